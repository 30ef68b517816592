// Operations on two accumulators, and what is done to the finished one. Included by each
// isa_*.cc after pack.h, in the same anonymous namespace.

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;

template <class T>
constexpr bool kFloating = kSame<T, float> || kSame<T, double>;

// Each is of two packs V of lanes T; kLeast lanes belong together. All commute to the bit, except
// for the kind of NaN: see finish().

struct Sum {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    return a + b;
  }
};

struct Prod {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    return a * b;
  }
};

struct Min {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    if constexpr (kFloating<T>) {
      // Neither is less: equal, then the bits differ in a zero's sign at most and the union
      // is the negative zero; or one is a NaN, and so is the union.
      using U = Pack<Bits<T>, sizeof(V) / sizeof(T)>;
      V either = as<V>(as<U>(a) | as<U>(b));
      return a < b ? a : (b < a ? b : either);
    } else {
      return a < b ? a : b;
    }
  }
};

struct Max {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    if constexpr (kFloating<T>) {
      return -Min::of<T, V>(-a, -b);
    } else {
      return a > b ? a : b;
    }
  }
};

struct And {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    return a & b;
  }
};

struct Or {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    return a | b;
  }
};

struct Xor {
  static constexpr int kLeast = 1;
  template <class T, class V>
  static WEFT_INLINE V of(V a, V b) {
    return a ^ b;
  }
};

// Lanes are (real, imaginary) in turn: (a + bi)(c + di) = (ac - bd) + (ad + bc)i. Infinite
// factors are not looked at again as C's Annex G does: a NaN they make stays one.
struct ComplexProd {
  static constexpr int kLeast = 2;
  template <class T, class V>
  static WEFT_INLINE V of(V x, V y) {
    return multiply<T>(x, y, std::make_integer_sequence<int, sizeof(V) / sizeof(T)>{});
  }

  template <class T, class V, int... I>
  static WEFT_INLINE V multiply(V x, V y, std::integer_sequence<int, I...>) {
    const V real = __builtin_shufflevector(x, x, (I & ~1)...);    // a a
    const V imag = __builtin_shufflevector(x, x, (I | 1)...);     // b b
    const V swapped = __builtin_shufflevector(y, y, (I ^ 1)...);  // d c
    const V cross = imag * swapped;                               // bd bc
    const V minus = {(I % 2 == 0 ? T(-0.0) : T(0))...};
    using U = Pack<Bits<T>, sizeof(V) / sizeof(T)>;
    return real * y + as<V>(as<U>(cross) ^ as<U>(minus));
  }
};

// Finishes an accumulation: applies the scale, then turns every NaN into the canonical one. The
// sign and payload of a NaN from an addition depend on the order of its operands and on the
// processor.
template <class T, bool Scaled, class V>
WEFT_INLINE V finish(V acc, T scale) {
  if constexpr (Scaled) acc *= scale;
  if constexpr (kFloating<T>) {
    using U = Pack<Bits<T>, sizeof(V) / sizeof(T)>;
    constexpr Bits<T> kQuietNan = sizeof(T) == 4 ? 0x7fc00000 : 0x7ff8000000000000;
    acc = acc == acc ? acc : as<V>(U{} + kQuietNan);
  }
  return acc;
}

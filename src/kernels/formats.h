// How elements lie in memory and what they are accumulated in. Included by each isa_*.cc
// after half.h, in the same anonymous namespace.
//
// A format reads elements into R packs of N lanes of the accumulator type and writes such
// packs back; a pack chooses which element is in which lane, as long as memory, wide memory and the
// other direction agree. Elements start at `index`; addresses need not
// be aligned.

template <class T>
struct Plain {
  using Acc = T;
  static constexpr bool kNarrow = false;  // true: sources and targets may be wide

  template <int N, int R>
  static WEFT_INLINE void read(Pack<T, N> (&acc)[R], const void* data, std::size_t index) {
    for (int r = 0; r < R; ++r) acc[r] = load<T, N>(data, index + r * N);
  }
  template <int N, int R>
  static WEFT_INLINE void write(void* data, std::size_t index, const Pack<T, N> (&acc)[R]) {
    for (int r = 0; r < R; ++r) store<T, N>(data, index + r * N, acc[r]);
  }
};

struct Bool : Plain<std::uint8_t> {
  template <int N, int R>
  static WEFT_INLINE void read(Pack<Acc, N> (&acc)[R], const void* data, std::size_t index) {
    Plain<Acc>::read<N, R>(acc, data, index);
    // Any byte but zero is true.
    for (int r = 0; r < R; ++r) acc[r] = as<Pack<Acc, N>>(acc[r] != 0) & 1;
  }
};

// Two packs of halves that are read as one pack of 32-bit words: the even elements are
// the low halves of the words, the odd ones the high. This takes shifts and masks where
// widening in order would take shuffles. Little-endian, as every supported processor is.
template <int N>
struct EvenOdd {
  template <class ToFloat>
  static WEFT_INLINE void read(Floats<N>& even, Floats<N>& odd, const void* data, std::size_t index,
                               ToFloat to_float) {
    const Words<N> words = as<Words<N>>(load<std::uint16_t, 2 * N>(data, index));
    even = to_float(words & 0xffffu);
    odd = to_float(words >> 16);
  }
  static WEFT_INLINE void write(void* data, std::size_t index, Words<N> even, Words<N> odd) {
    store<std::uint16_t, 2 * N>(data, index, as<Halves<2 * N>>(even | (odd << 16)));
  }
  static WEFT_INLINE void read_wide(Floats<N>& even, Floats<N>& odd, const void* data,
                                    std::size_t index) {
    split(even, odd, load<float, N>(data, index), load<float, N>(data, index + N), Lanes{});
  }
  static WEFT_INLINE void write_wide(void* data, std::size_t index, Floats<N> even, Floats<N> odd) {
    join(data, index, even, odd, Lanes{});
  }

 private:
  using Lanes = std::make_integer_sequence<int, N>;

  template <int... I>
  static WEFT_INLINE void split(Floats<N>& even, Floats<N>& odd, Floats<N> first, Floats<N> second,
                                std::integer_sequence<int, I...>) {
    even = __builtin_shufflevector(first, second, (2 * I)...);
    odd = __builtin_shufflevector(first, second, (2 * I + 1)...);
  }
  template <int... I>
  static WEFT_INLINE void join(void* data, std::size_t index, Floats<N> even, Floats<N> odd,
                               std::integer_sequence<int, I...>) {
    const Floats<N> first = __builtin_shufflevector(even, odd, (I / 2 + I % 2 * N)...);
    const Floats<N> second = __builtin_shufflevector(even, odd, (N / 2 + I / 2 + I % 2 * N)...);
    store<float, N>(data, index, first);
    store<float, N>(data, index + N, second);
  }
};

// Halves accumulated in float. `Half` converts words and, in the order of memory, packs;
// `Half::kEvenOdd` says that the former is the faster.
template <class Half>
struct Narrow {
  using Acc = float;
  static constexpr bool kNarrow = true;
  template <int R>
  static constexpr bool kPaired = Half::kEvenOdd && R % 2 == 0;

  template <int N, int R>
  static WEFT_INLINE void read(Floats<N> (&acc)[R], const void* data, std::size_t index) {
    if constexpr (kPaired<R>) {
      for (int r = 0; r < R; r += 2) {
        EvenOdd<N>::read(acc[r], acc[r + 1], data, index + r * N,
                         [](Words<N> words) { return Half::template to_float<N>(words); });
      }
    } else {
      for (int r = 0; r < R; ++r) {
        acc[r] = Half::template widen<N>(load<std::uint16_t, N>(data, index + r * N));
      }
    }
  }

  template <int N, int R>
  static WEFT_INLINE void write(void* data, std::size_t index, const Floats<N> (&acc)[R]) {
    if constexpr (kPaired<R>) {
      for (int r = 0; r < R; r += 2) {
        EvenOdd<N>::write(data, index + r * N, Half::template from_float<N>(acc[r]),
                          Half::template from_float<N>(acc[r + 1]));
      }
    } else {
      for (int r = 0; r < R; ++r) {
        store<std::uint16_t, N>(data, index + r * N, Half::template narrow<N>(acc[r]));
      }
    }
  }

  template <int N, int R>
  static WEFT_INLINE void read_wide(Floats<N> (&acc)[R], const void* data, std::size_t index) {
    if constexpr (kPaired<R>) {
      for (int r = 0; r < R; r += 2) {
        EvenOdd<N>::read_wide(acc[r], acc[r + 1], data, index + r * N);
      }
    } else {
      for (int r = 0; r < R; ++r) acc[r] = load<float, N>(data, index + r * N);
    }
  }

  template <int N, int R>
  static WEFT_INLINE void write_wide(void* data, std::size_t index, const Floats<N> (&acc)[R]) {
    if constexpr (kPaired<R>) {
      for (int r = 0; r < R; r += 2) {
        EvenOdd<N>::write_wide(data, index + r * N, acc[r], acc[r + 1]);
      }
    } else {
      for (int r = 0; r < R; ++r) store<float, N>(data, index + r * N, acc[r]);
    }
  }
};

struct Bf16Half {
  static constexpr bool kEvenOdd = true;
  template <int N>
  static WEFT_INLINE Floats<N> to_float(Words<N> half) {
    return bf16_to_float<N>(half);
  }
  template <int N>
  static WEFT_INLINE Words<N> from_float(Floats<N> value) {
    return float_to_bf16<N>(value);
  }
  template <int N>
  static WEFT_INLINE Floats<N> widen(Halves<N> half) {
    return bf16_to_float<N>(__builtin_convertvector(half, Words<N>));
  }
  template <int N>
  static WEFT_INLINE Halves<N> narrow(Floats<N> value) {
    return __builtin_convertvector(float_to_bf16<N>(value), Halves<N>);
  }
};

struct F16Half {
#if defined(__F16C__) || defined(__aarch64__)
  static constexpr bool kEvenOdd = false;
#else
  static constexpr bool kEvenOdd = true;
#endif
  template <int N>
  static WEFT_INLINE Floats<N> to_float(Words<N> half) {
    return f16_to_float<N>(half);
  }
  template <int N>
  static WEFT_INLINE Words<N> from_float(Floats<N> value) {
    return float_to_f16<N>(value);
  }
  template <int N>
  static WEFT_INLINE Floats<N> widen(Halves<N> half) {
    return widen_f16<N>(half);
  }
  template <int N>
  static WEFT_INLINE Halves<N> narrow(Floats<N> value) {
    return narrow_f16<N>(value);
  }
};

using Bf16 = Narrow<Bf16Half>;
using F16 = Narrow<F16Half>;

// Vectors of the instruction set that this translation unit is compiled for.
//
// Included by loops.h only, inside an anonymous namespace: the same names mean other code in each
// isa_*.cc, and the linker must not merge them. For the same
// reason nothing here calls a function of the standard library.

#if defined(__AVX512BW__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;  // SSE2, NEON; elsewhere the compiler splits it
#endif

// Sanitizers check every copy of an inlined loop: a compile of minutes for the same code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_INLINE inline
#else
#define WEFT_INLINE inline __attribute__((always_inline))
#endif

template <class T, int N>
struct PackOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};

// N elements of type T in a register. Arithmetic is lane by lane and does not promote,
// so unsigned lanes wrap; comparisons give lanes of all ones or all zeros.
template <class T, int N>
using Pack = typename PackOf<T, N>::type;

// Lanes of type T that fill one register.
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};
template <class T>
using Bits = typename BitsOf<T>::type;

// The same bits as another type of the same size.
template <class To, class From>
WEFT_INLINE To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

// Elements [index, index + N) of an array that need not be aligned.
template <class T, int N>
WEFT_INLINE Pack<T, N> load(const void* base, std::size_t index) {
  Pack<T, N> pack;
  __builtin_memcpy(&pack, static_cast<const char*>(base) + index * sizeof(T), sizeof(pack));
  return pack;
}

template <class T, int N>
WEFT_INLINE void store(void* base, std::size_t index, Pack<T, N> pack) {
  __builtin_memcpy(static_cast<char*>(base) + index * sizeof(T), &pack, sizeof(pack));
}

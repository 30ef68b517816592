// f16 and bf16 to float and back, N lanes at a time. Included by each isa_*.cc after
// pack.h, in the same anonymous namespace.
//
// Widening is exact. Narrowing rounds to nearest even, denormals included, and expects
// NaNs to be canonical already. The bit versions and the processor's instructions give
// the same bits, so any width may use either. A `Words` lane holds one half in its low
// 16 bits, the rest zero.

template <int N>
using Words = Pack<std::uint32_t, N>;
template <int N>
using Floats = Pack<float, N>;
template <int N>
using Halves = Pack<std::uint16_t, N>;

template <int N>
WEFT_INLINE Floats<N> bf16_to_float(Words<N> half) {
  return as<Floats<N>>(half << 16);
}

template <int N>
WEFT_INLINE Words<N> float_to_bf16(Floats<N> value) {
  const auto bits = as<Words<N>>(value);
  // Half of the last place kept, less one where that place is even: ties go to even.
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

template <int N>
WEFT_INLINE Floats<N> f16_to_float(Words<N> half) {
  using U = Words<N>;
  const U magnitude = (half & 0x7fffu) << 13;
  const U exponent = magnitude & (0x7c00u << 13);
  const U normal = magnitude + ((127u - 15u) << 23);
  const U special = magnitude + ((255u - 31u) << 23);  // infinity and NaN
  // A denormal is m * 2^-24: put m under the leading one of 2^-14, take 2^-14 away. No
  // float in this is denormal, so a thread that flushes denormals gets the same.
  const U denormal = as<U>(as<Floats<N>>(magnitude + (113u << 23)) - 0x1p-14f);
  const U finite = exponent == 0 ? denormal : normal;
  const U result = exponent == (0x7c00u << 13) ? special : finite;
  return as<Floats<N>>(result | ((half & 0x8000u) << 16));
}

template <int N>
WEFT_INLINE Words<N> float_to_f16(Floats<N> value) {
  using U = Words<N>;
  using I = Pack<std::int32_t, N>;
  const U bits = as<U>(value);
  const U sign = bits & 0x80000000u;
  const U magnitude = bits ^ sign;
  const I order = as<I>(magnitude);  // signed comparison is what SSE2 has
  // Adding 0.5 leaves a multiple of 2^-24, the least denormal, in the low bits, rounded
  // by the addition itself.
  const U denormal = as<U>(as<Floats<N>>(magnitude) + 0.5f) - 0x3f000000u;
  const U normal = (magnitude - ((127u - 15u) << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const U special = order > 0x7f800000 ? U{} + 0x7e00u : U{} + 0x7c00u;
  const U finite = order < (113 << 23) ? denormal : normal;
  return (order >= (143 << 23) ? special : finite) | (sign >> 16);
}

// N halves, in the order of memory, by the processor's own instructions where it has them.
// The unmasked 512-bit intrinsics make gcc 12 warn of their own uninitialised operand.

// The first bytes of a larger vector, or a smaller one with zeros behind.
template <class To, class From>
WEFT_INLINE To resize(From from) {
  To to = {};
  __builtin_memcpy(&to, &from, sizeof(to) < sizeof(from) ? sizeof(to) : sizeof(from));
  return to;
}

template <int N>
WEFT_INLINE Floats<N> widen_f16(Halves<N> half) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return as<Floats<N>>(_mm512_maskz_cvtph_ps(0xffff, as<__m256i>(half)));
#endif
#if defined(__F16C__)
  if constexpr (N == 8) return as<Floats<N>>(_mm256_cvtph_ps(as<__m128i>(half)));
  if constexpr (N <= 4) return resize<Floats<N>>(_mm_cvtph_ps(resize<__m128i>(half)));
#elif defined(__aarch64__)
  if constexpr (N <= 4) return resize<Floats<N>>(vcvt_f32_f16(resize<float16x4_t>(half)));
#endif
  return f16_to_float<N>(__builtin_convertvector(half, Words<N>));
}

template <int N>
WEFT_INLINE Halves<N> narrow_f16(Floats<N> value) {
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    return as<Halves<N>>(
        _mm512_maskz_cvtps_ph(0xffff, as<__m512>(value), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
#if defined(__F16C__)
  if constexpr (N == 8) {
    return as<Halves<N>>(_mm256_cvtps_ph(as<__m256>(value), _MM_FROUND_TO_NEAREST_INT));
  }
  if constexpr (N <= 4) {
    return resize<Halves<N>>(_mm_cvtps_ph(resize<__m128>(value), _MM_FROUND_TO_NEAREST_INT));
  }
#elif defined(__aarch64__)
  if constexpr (N <= 4) return resize<Halves<N>>(vcvt_f16_f32(resize<float32x4_t>(value)));
#endif
  return __builtin_convertvector(float_to_f16<N>(value), Halves<N>);
}

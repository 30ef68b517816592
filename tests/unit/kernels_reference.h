// What a reduction must give, written plainly and without the kernels: one element at a
// time, integers as integers, halves through a table of all their values.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/kernels.h"
#include "weft/types.h"

namespace weft::reference {

// A 16-bit floating format with `mantissa` bits, by its definition.
class HalfFormat {
 public:
  explicit HalfFormat(int mantissa)
      : mantissa_(mantissa), infinity_(0x7fff >> mantissa << mantissa) {
    for (int bits = 0; bits < infinity_; ++bits) finite_.push_back(magnitude(bits));
    // Beyond half a step past the largest, all is infinite.
    finite_.push_back(2 * finite_.back() - finite_[finite_.size() - 2]);
  }

  float decode(std::uint16_t bits) const {
    const int rest = bits & 0x7fff;
    const float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (rest > infinity_) return std::numeric_limits<float>::quiet_NaN();
    if (rest == infinity_) return sign * std::numeric_limits<float>::infinity();
    return sign * static_cast<float>(finite_[static_cast<std::size_t>(rest)]);
  }

  // The nearest value, the even one of two.
  std::uint16_t encode(float value) const {
    if (std::isnan(value)) return static_cast<std::uint16_t>(infinity_ | 1 << (mantissa_ - 1));
    const double wanted = std::fabs(static_cast<double>(value));
    auto above = std::lower_bound(finite_.begin(), finite_.end(), wanted);
    auto bits = static_cast<int>(above - finite_.begin());
    if (bits > infinity_) bits = infinity_;  // infinite already
    if (bits > 0 && wanted < finite_[static_cast<std::size_t>(bits)]) {
      const double up = finite_[static_cast<std::size_t>(bits)] - wanted;
      const double down = wanted - finite_[static_cast<std::size_t>(bits) - 1];
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
    return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
  }

 private:
  double magnitude(int bits) const {
    const int bias = (1 << (14 - mantissa_)) - 1;
    const int exponent = bits >> mantissa_;
    const int fraction = bits & ((1 << mantissa_) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias - mantissa_);
    return std::ldexp(fraction + (1 << mantissa_), exponent - bias - mantissa_);
  }

  int mantissa_;
  int infinity_;
  std::vector<double> finite_;  // by bits; one more at the end, where infinity stands
};

inline const HalfFormat& f16() {
  static const HalfFormat format(10);
  return format;
}
inline const HalfFormat& bf16() {
  static const HalfFormat format(7);
  return format;
}

template <class T>
constexpr bool kComplex = false;
template <class T>
constexpr bool kComplex<std::complex<T>> = true;

// The canonical quiet NaN for every NaN, in either part.
template <class T>
T canonical(T value) {
  if constexpr (kComplex<T>) {
    return {canonical(value.real()), canonical(value.imag())};
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  } else {
    return value;
  }
}

template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

template <class T>
T apply(ReduceOp op, T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    if (op == ReduceOp::kBitXor) return a != b;
    const bool both = op == ReduceOp::kProd || op == ReduceOp::kMin || op == ReduceOp::kBitAnd;
    return both ? a && b : a || b;
  } else if constexpr (kComplex<T>) {
    if (op != ReduceOp::kProd) return {a.real() + b.real(), a.imag() + b.imag()};
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::kProd) return a * b;
    if (op == ReduceOp::kMin) return minimum(a, b);
    if (op == ReduceOp::kMax) return maximum(a, b);
    return a + b;
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    switch (op) {
      case ReduceOp::kProd:
        return static_cast<T>(x * y);
      case ReduceOp::kMin:
        return minimum(a, b);
      case ReduceOp::kMax:
        return maximum(a, b);
      case ReduceOp::kBitAnd:
        return static_cast<T>(x & y);
      case ReduceOp::kBitOr:
        return static_cast<T>(x | y);
      case ReduceOp::kBitXor:
        return static_cast<T>(x ^ y);
      default:
        return static_cast<T>(x + y);
    }
  }
}

// How an element of a dtype is read and written. T is what it is accumulated in.
template <DType dtype, class T>
struct Codec {
  using Acc = T;
  static T read(const std::byte* at, bool wide) {
    if constexpr (dtype == DType::kBool) return *at != std::byte{0};
    if (is_narrow(dtype) && !wide) {
      std::uint16_t bits;
      std::memcpy(&bits, at, sizeof(bits));
      if constexpr (dtype == DType::kF16) return f16().decode(bits);
      if constexpr (dtype == DType::kBF16) return bf16().decode(bits);
    }
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  static void write(std::byte* at, bool wide, T value) {
    if (is_narrow(dtype) && !wide) {
      std::uint16_t bits = 0;
      if constexpr (dtype == DType::kF16) bits = f16().encode(value);
      if constexpr (dtype == DType::kBF16) bits = bf16().encode(value);
      std::memcpy(at, &bits, sizeof(bits));
    } else {
      std::memcpy(at, &value, sizeof(value));
    }
  }
};

// Calls `use` with the Codec of `dtype`.
template <class Use>
void with_codec(DType dtype, Use use) {
  switch (dtype) {
    case DType::kBool:
      return use(Codec<DType::kBool, bool>{});
    case DType::kU8:
      return use(Codec<DType::kU8, std::uint8_t>{});
    case DType::kI8:
      return use(Codec<DType::kI8, std::int8_t>{});
    case DType::kU16:
      return use(Codec<DType::kU16, std::uint16_t>{});
    case DType::kI16:
      return use(Codec<DType::kI16, std::int16_t>{});
    case DType::kU32:
      return use(Codec<DType::kU32, std::uint32_t>{});
    case DType::kI32:
      return use(Codec<DType::kI32, std::int32_t>{});
    case DType::kU64:
      return use(Codec<DType::kU64, std::uint64_t>{});
    case DType::kI64:
      return use(Codec<DType::kI64, std::int64_t>{});
    case DType::kF16:
      return use(Codec<DType::kF16, float>{});
    case DType::kBF16:
      return use(Codec<DType::kBF16, float>{});
    case DType::kF32:
      return use(Codec<DType::kF32, float>{});
    case DType::kF64:
      return use(Codec<DType::kF64, double>{});
    case DType::kC64:
      return use(Codec<DType::kC64, std::complex<float>>{});
    case DType::kC128:
      return use(Codec<DType::kC128, std::complex<double>>{});
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return;
  }
}

struct Input {
  const std::byte* data;
  bool wide;
};

// The result in the element type, or in the accumulator type if `wide`.
inline std::vector<std::byte> reduce(DType dtype, ReduceOp op, const std::vector<Input>& inputs,
                                     std::size_t count, double scale, bool wide,
                                     kernels::Order order) {
  const std::size_t narrow_bytes = size_of(dtype);
  const std::size_t wide_bytes = size_of(accumulator_of(dtype));
  std::vector<std::byte> result(count * (wide ? wide_bytes : narrow_bytes));
  with_codec(dtype, [&]<class C>(C) {
    using Acc = typename C::Acc;
    for (std::size_t i = 0; i < count; ++i) {
      auto element = [&](const Input& input) {
        return C::read(input.data + i * (input.wide ? wide_bytes : narrow_bytes), input.wide);
      };
      // Of sources [first, first + n): the last one joins the others, or the right part the left.
      auto sum = [&](auto&& self, std::size_t first, std::size_t n) -> Acc {
        if (n == 1) return element(inputs[first]);
        std::size_t left = n - 1;
        if (order == kernels::Order::kTree)
          for (left = 1; 2 * left < n;) left *= 2;
        return apply(op, self(self, first, left), self(self, first + left, n - left));
      };
      Acc acc = sum(sum, 0, inputs.size());
      if constexpr (kComplex<Acc>) {
        const auto factor = static_cast<typename Acc::value_type>(scale);
        if (scale != 1.0) acc = {acc.real() * factor, acc.imag() * factor};
      } else if constexpr (std::is_floating_point_v<Acc>) {
        if (scale != 1.0) acc *= static_cast<Acc>(scale);
      }
      C::write(result.data() + i * (wide ? wide_bytes : narrow_bytes), wide, canonical(acc));
    }
  });
  return result;
}

}  // namespace weft::reference

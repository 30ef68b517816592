// Arrays of any dtype, filled and read as doubles. Values are small integers, so that
// every dtype holds them and their sums exactly.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "weft/types.h"

namespace weft::testing {

// `count` elements with guard bytes on both sides.
class Array {
 public:
  Array(DType dtype, std::size_t count)
      : dtype_(dtype), count_(count), bytes_(count * size_of(dtype) + 2 * kGuard, kCanary) {}

  void* data() { return bytes_.data() + kGuard; }
  void* at(std::size_t element) { return bytes_.data() + kGuard + element * size_of(dtype_); }
  std::size_t size() const { return count_; }

  void set(std::size_t i, double value) {
    void* to = at(i);
    switch (dtype_) {
      case DType::kBool:
        put<unsigned char>(to, value != 0);
        break;
      case DType::kU8:
      case DType::kF8E4M3:
      case DType::kF8E5M2:
        put<std::uint8_t>(to, value);
        break;
      case DType::kI8:
        put<std::int8_t>(to, value);
        break;
      case DType::kU16:
        put<std::uint16_t>(to, value);
        break;
      case DType::kI16:
        put<std::int16_t>(to, value);
        break;
      case DType::kU32:
        put<std::uint32_t>(to, value);
        break;
      case DType::kI32:
        put<std::int32_t>(to, value);
        break;
      case DType::kU64:
        put<std::uint64_t>(to, value);
        break;
      case DType::kI64:
        put<std::int64_t>(to, value);
        break;
      case DType::kF16:
      case DType::kBF16: {
        float wide = static_cast<float>(value);
        convert(&wide, true, to, false);
        break;
      }
      case DType::kF32:
        put<float>(to, value);
        break;
      case DType::kF64:
        put<double>(to, value);
        break;
      case DType::kC64:
        put<float>(to, value);
        put<float>(at4(to, 4), -value);
        break;
      case DType::kC128:
        put<double>(to, value);
        put<double>(at4(to, 8), -value);
        break;
    }
  }

  // Elements [first, first + count): value(0), value(1), ..., which repeats after `period`.
  template <typename Value>
  void fill(std::size_t first, std::size_t count, std::size_t period, const Value& value) {
    std::size_t done = std::min(count, period);
    for (std::size_t i = 0; i < done; ++i) set(first + i, value(i));
    for (; done < count; done += period) {
      std::memcpy(at(first + done), at(first), std::min(period, count - done) * size_of(dtype_));
    }
  }

  bool same_bytes(Array& other, std::size_t first) {
    return std::memcmp(data(), other.at(first), count_ * size_of(dtype_)) == 0;
  }

  double get(std::size_t i) {
    void* from = at(i);
    switch (dtype_) {
      case DType::kBool:
      case DType::kU8:
      case DType::kF8E4M3:
      case DType::kF8E5M2:
        return take<std::uint8_t>(from);
      case DType::kI8:
        return take<std::int8_t>(from);
      case DType::kU16:
        return take<std::uint16_t>(from);
      case DType::kI16:
        return take<std::int16_t>(from);
      case DType::kU32:
        return take<std::uint32_t>(from);
      case DType::kI32:
        return take<std::int32_t>(from);
      case DType::kU64:
        return static_cast<double>(take<std::uint64_t>(from));
      case DType::kI64:
        return static_cast<double>(take<std::int64_t>(from));
      case DType::kF16:
      case DType::kBF16: {
        float wide = 0;
        convert(from, false, &wide, true);
        return wide;
      }
      case DType::kF32:
      case DType::kC64:
        return take<float>(from);
      case DType::kF64:
      case DType::kC128:
        return take<double>(from);
    }
    return 0;
  }

  // False if something was written outside of the elements.
  bool guards_intact() const {
    for (std::size_t i = 0; i < kGuard; ++i)
      if (bytes_[i] != kCanary || bytes_[bytes_.size() - 1 - i] != kCanary) return false;
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kCanary = 0xA5;

  template <typename T>
  static void put(void* to, double value) {
    T typed = static_cast<T>(value);
    std::memcpy(to, &typed, sizeof typed);
  }
  template <typename T>
  static T take(const void* from) {
    T typed;
    std::memcpy(&typed, from, sizeof typed);
    return typed;
  }
  static void* at4(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }
  void convert(const void* from, bool from_wide, void* to, bool to_wide) const {
    kernels::Source source{from, from_wide};
    kernels::Target target{to, to_wide};
    kernels::find_reduce(dtype_, ReduceOp::kSum)({&source, 1}, {&target, 1}, 1, 1.0,
                                                 kernels::Order::kFromLeft);
  }

  DType dtype_;
  std::size_t count_;
  std::vector<unsigned char> bytes_;
};

}  // namespace weft::testing

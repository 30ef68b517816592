// How a Location counts: segments of one fabric from 1, bytes from the segment's begin.
#pragma once

#include <cstdint>

#include "fabric/fabric.h"

namespace weft {

inline constexpr std::uint32_t kLastSegment = (1u << 24) - 1;
inline constexpr int kOffsetBits = 40;
inline constexpr std::uint64_t kLargestSegment = std::uint64_t{1} << kOffsetBits;

inline std::uint32_t segment_of(Location where) {
  return static_cast<std::uint32_t>(where.bits >> kOffsetBits);
}
inline std::uint64_t offset_of(Location where) { return where.bits & (kLargestSegment - 1); }
inline Location location_of(std::uint32_t segment, std::uint64_t offset) {
  return {std::uint64_t{segment} << kOffsetBits | offset};
}

}  // namespace weft

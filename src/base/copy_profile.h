// How a processor copies best, as data: from which size on which kind of store is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr std::size_t kNever = SIZE_MAX;

// Copies into one kind of memory, in bytes.
struct CopyRule {
  // `rep movsb` for string_from <= bytes < string_below.
  std::size_t string_from = kNever, string_below = kNever;
  // Strings go page by page, with the next page's beginning fetched ahead, if the call's buffer has
  // at least so many bytes. What the copy reads has left the caches then.
  std::size_t fetch_from = kNever;
  // From so many bytes on four parts of a copy go at once, in place of strings.
  std::size_t parts_from = kNever;
  // Whole lines past the caches, if all that a call fills has at least so many.
  std::size_t stream_from = kNever;
};

struct CopyProfile {
  // Into memory of this rank, a slot, a peer's memory: as kernels::To counts them.
  std::array<CopyRule, 3> rules = {};
  // `rep movsb` is refused where (dst - src) mod 4096 is at least 1 and below `ahead`, or where
  // (src - dst) mod 4096 is below `behind`: the processor takes such loads and stores for the same.
  std::size_t ahead = 0, behind = 0;

  bool refuses(const void* dst, const void* src) const {
    const auto distance =
        reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(src);
    return (distance % 4096 != 0 && distance % 4096 < ahead) || -distance % 4096 < behind;
  }
};

}  // namespace weft

// How a processor copies best, as data: from which size on which kind of store is used.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr std::size_t kNever = SIZE_MAX;

enum class CopyLoop : std::uint8_t {
  kPlain,     // vector registers
  kString,    // `rep movsb`
  kFetching,  // `rep movsb` page by page, with the beginning of a later page fetched ahead
  kParts,     // vector registers, four parts of the copy at once
  kStream,    // whole lines past the caches, fenced
};

// Copies into one kind of memory, in bytes.
struct CopyRule {
  // Shorter copies are worth no fence and no parts.
  static constexpr std::size_t kLeastLong = 4096;

  // `rep movsb` for string_from <= bytes < string_below.
  std::size_t string_from = kNever, string_below = kNever;
  // Strings fetch pages ahead if the call's buffer has at least so many bytes. What the copy reads
  // may have left the caches then. Without string_from they are for such buffers alone.
  std::size_t fetch_from = kNever;
  // In parts from so many bytes on, in place of strings.
  std::size_t parts_from = kNever;
  // Past the caches if the call's buffer has at least so many bytes.
  std::size_t stream_from = kNever;

  // For a copy of `bytes`, part of a buffer of `whole`. Strings may still be refused.
  CopyLoop loop(std::size_t bytes, std::size_t whole) const {
    if (bytes < std::min(string_from, kLeastLong)) return CopyLoop::kPlain;
    const bool is_long = bytes >= kLeastLong;
    if (is_long && whole >= stream_from) return CopyLoop::kStream;
    if (is_long && bytes >= parts_from) return CopyLoop::kParts;
    if (bytes >= string_below) return CopyLoop::kPlain;
    const bool fetches = whole >= fetch_from;
    if (string_from == kNever) return is_long && fetches ? CopyLoop::kFetching : CopyLoop::kPlain;
    if (bytes < string_from) return CopyLoop::kPlain;
    return fetches ? CopyLoop::kFetching : CopyLoop::kString;
  }
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

  // What copies by a rule in the end.
  CopyLoop loop(const CopyRule& rule, const void* dst, const void* src, std::size_t bytes,
                std::size_t whole) const {
    const CopyLoop loop = rule.loop(bytes, whole);
    const bool string = loop == CopyLoop::kString || loop == CopyLoop::kFetching;
    return string && refuses(dst, src) ? CopyLoop::kPlain : loop;
  }
};

}  // namespace weft

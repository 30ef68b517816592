// How each known processor copies best, as data: from which size on which kind of store is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// What decides how a processor copies. Vendor is "" and numbers are 0 where it does not say.
struct Processor {
  std::string vendor;  // "AuthenticAMD", "GenuineIntel"
  int family = 0, model = 0;
  bool fast_strings = false;        // ERMS: `rep movsb` is worth it for long copies
  bool fast_short_strings = false;  // FSRM: for short ones too
  std::size_t l2 = 0, l3 = 0;       // bytes of a core's second cache, of the largest that is shared
};

// The one that this thread runs on. Thread safe.
Processor this_processor();

inline constexpr std::size_t kNever = SIZE_MAX;

// Copies into one kind of memory, in bytes.
struct CopyRule {
  // `rep movsb` for string_from <= bytes < string_below.
  std::size_t string_from = kNever, string_below = kNever;
  // Whole lines past the caches, if all that a call fills has at least so many.
  std::size_t stream_from = kNever;
};

struct CopyProfile {
  std::string_view name;  // "zen5"; "unknown" if a rule chose it
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

// The profile that Weft ships for a processor, else one by the rule for unknown ones.
CopyProfile copy_profile(const Processor& processor);

}  // namespace weft

#include "base/copy_profile.h"

#include <unistd.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft {
namespace {

constexpr std::size_t operator""_K(unsigned long long n) { return n << 10; }
constexpr std::size_t operator""_M(unsigned long long n) { return n << 20; }

// docs/performance.md, "Which loop copies", has the measurements behind each row.
using Rules = std::array<CopyRule, 3>;

// The string instruction slows down several times where low address bits agree (glibc bug 30994).
// Where they do not, loops were as fast on Zen 4.
constexpr CopyProfile kZen3And4 = {.name = "zen3 or zen4", .rules = {}};
// Loops fetch each line of a slot from its last reader, at 8 GB/s between far cores; the string
// instruction writes whole lines. What comes out of a slot is copied as well or better by it, too.
constexpr CopyRule kZen5Slot = {.string_from = 2_K};
constexpr CopyProfile kZen5 = {.name = "zen5",
                               .rules = Rules{CopyRule{.string_from = 4_K}, kZen5Slot, kZen5Slot}};
// What the C library chose in all that was measured there, but for own outputs of 25 MiB: past the
// caches these took 1.5 ms instead of 3.2. Slots lose by that.
constexpr CopyRule kSapphireSlot = {.string_from = 8_K};
constexpr CopyProfile kSapphireRapids = {
    .name = "sapphire rapids",
    .rules = Rules{CopyRule{.string_from = 8_K, .stream_from = 24_M}, kSapphireSlot, kSapphireSlot},
    .ahead = 64};

// Lines of a slot are fetched from its last reader unless they are written whole. With streaming
// into own memory allreduce of 25 MiB took 1.26 of the time, in an L3 of 260 MiB.
constexpr CopyRule kEmeraldSlot = {.string_from = 1_K};
constexpr CopyProfile kEmeraldRapids = {
    .name = "emerald rapids",
    .rules = Rules{CopyRule{.string_from = 8_K}, kEmeraldSlot, kEmeraldSlot},
    .ahead = 64};

struct Known {
  const char* vendor;
  int family, first_model, last_model;
  const CopyProfile& profile;
};
constexpr Known kKnown[] = {
    {"AuthenticAMD", 25, 0x00, 0xff, kZen3And4},
    {"AuthenticAMD", 26, 0x00, 0x4f, kZen5},
    {"AuthenticAMD", 26, 0x60, 0x7f, kZen5},
    {"GenuineIntel", 6, 0x8f, 0x8f, kSapphireRapids},
    {"GenuineIntel", 6, 0xcf, 0xcf, kEmeraldRapids},
};

// Of a processor that nobody measured: strings where its maker says that they are fast, up to the
// second cache, and never where the destination begins less than a line ahead of the source.
CopyProfile by_rule(const Processor& processor) {
  CopyProfile profile{.name = "unknown"};
  if (!processor.fast_strings || processor.l2 == 0) return profile;
  const std::size_t from = processor.fast_short_strings ? 4_K : 8_K;
  profile.rules.fill({.string_from = from, .string_below = processor.l2});
  profile.ahead = 64;
  return profile;
}

// -1 and 0 where the system does not say.
std::size_t cache_bytes(int name) { return static_cast<std::size_t>(std::max(0L, sysconf(name))); }

}  // namespace

Processor this_processor() {
  Processor here;
  here.l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  here.l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return here;
  const unsigned name[] = {b, d, c};
  here.vendor.assign(reinterpret_cast<const char*>(name), sizeof name);
  __get_cpuid(1, &a, &b, &c, &d);
  const unsigned family = a >> 8 & 15, model = a >> 4 & 15;
  here.family = static_cast<int>(family == 15 ? family + (a >> 20 & 255) : family);
  here.model = static_cast<int>(family == 15 || family == 6 ? model | (a >> 12 & 0xf0) : model);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    here.fast_strings = b >> 9 & 1;
    here.fast_short_strings = d >> 4 & 1;
  }
#endif
  return here;
}

CopyProfile copy_profile(const Processor& processor) {
  for (const Known& known : kKnown) {
    if (processor.vendor == known.vendor && processor.family == known.family &&
        processor.model >= known.first_model && processor.model <= known.last_model)
      return known.profile;
  }
  return by_rule(processor);
}

}  // namespace weft

// The profiles that Weft ships, and the rule for processors that none of them names.
#include <set>

#include "base/machine_model.h"

namespace weft {
namespace {

constexpr std::size_t operator""_K(unsigned long long n) { return n << 10; }
constexpr std::size_t operator""_M(unsigned long long n) { return n << 20; }

// docs/machine-model.md has the measurements behind each number.
using Rules = std::array<CopyRule, 3>;

// The string instruction slows down several times where low address bits agree (glibc bug 30994).
// Where they do not, loops were as fast on Zen 3 and 4, unless a buffer outgrows the caches. Then
// own memory is filled past them, on Zen 4 from half of the third one on. On Zen 3 a quarter of it
// is what other guests leave. On Zen 4 slots are filled by strings then. On Zen 3 that took 1.1 of
// the time, and long chunks are copied in parts, those of long broadcasts and of exchanges.
constexpr CopyProfile kZen3 = {
    .rules = Rules{CopyRule{.stream_from = 8_M}, CopyRule{.parts_from = 128_K}}};
constexpr CopyProfile kZen4 = {
    .rules = Rules{CopyRule{.stream_from = 16_M}, CopyRule{.fetch_from = 16_M}}, .ahead = 64};
// Loops fetch each line of a slot from its last reader, at 8 GB/s between far cores; the string
// instruction writes whole lines. What comes out of a slot is copied as well or better by it, too.
constexpr CopyRule kZen5Slot = {.string_from = 2_K};
// From half of the third cache on past the caches: broadcast, allgather and alltoall of 25 MiB took
// 0.7 to 0.9 of the time. At 4 and 8 MiB they took up to 1.9 of it.
constexpr CopyProfile kZen5 = {
    .rules = Rules{CopyRule{.string_from = 4_K, .stream_from = 16_M}, kZen5Slot, kZen5Slot}};
// What the C library chose in all that was measured there, but for own outputs of 25 MiB: past the
// caches these took 1.5 ms instead of 3.2. Slots lose by that.
constexpr CopyRule kSapphireSlot = {.string_from = 8_K};
constexpr CopyProfile kSapphireRapids = {
    .rules = Rules{CopyRule{.string_from = 8_K, .stream_from = 24_M}, kSapphireSlot, kSapphireSlot},
    .ahead = 64};
// Lines of a slot are fetched from its last reader unless they are written whole. With streaming
// into own memory allreduce of 25 MiB took 1.26 of the time, in an L3 of 260 MiB.
constexpr CopyRule kEmeraldSlot = {.string_from = 1_K};
constexpr CopyProfile kEmeraldRapids = {
    .rules = Rules{CopyRule{.string_from = 8_K}, kEmeraldSlot, kEmeraldSlot}, .ahead = 64};

// Slots go to and fro between two ranks that send to each other. On all four processors where that
// was measured exchanges gain, most those of up to 512 KiB.
constexpr Reuse lending(Reuse reuse) {
  reuse.lend_to = 64_K;
  reuse.lent_span = 256_K;
  return reuse;
}
// Messages that such slots hold.
constexpr Lengths for_lent_slots(Lengths lengths) {
  lengths.exchange_chunk = lengths.allreduce_chunk = lengths.one_shot_of_two = 64_K;
  lengths.exchange_chunk_to = 512_K;
  lengths.allreduce_chunk_to = 1_M;
  return lengths;
}
// A quarter of the second cache. With less, slots are written again while they lie in the reader's
// caches; with more, they push out what large reductions add up.
constexpr Reuse kGoldenCoveReuse = lending({.span = 512_K});
constexpr Lengths kGoldenCove = {.smallest_chunk = 32_K,
                                 .moved_chunk = 256_K,
                                 .one_shot = 48_K,
                                 .symmetric_one_shot = 4_K,
                                 .allreduce_in_place = 4_K + 1,
                                 .reduce_in_place = 16_M,
                                 .broadcast_in_place = kNever,
                                 .symmetric_from = 8_K,
                                 .loaded_to = 2_M};
// Twice the second cache of 512 KiB, and three times that of 1 MiB, which a broadcast of 16 or 32
// KiB gains by; for calls that are no longer than it.
constexpr Reuse kZen3Reuse = lending({.span = 1_M, .to = 512_K});
constexpr Reuse kZen4Reuse = lending({.span = 3_M, .to = 1_M});
// An allreduce of 64 KiB that is added up everywhere took 1.14 of what it takes in two halves.
constexpr Lengths zen3_lengths() {
  Lengths lengths = for_lent_slots({.loaded_chunk = 1_M,
                                    .symmetric_one_shot = 4_K,
                                    .long_broadcast = 8_M,
                                    .long_broadcast_chunk = 256_K,
                                    .allreduce_in_place = 4_K + 1,
                                    .long_in_place = 4_K + 1,
                                    .symmetric_from = 4_K + 1});
  lengths.one_shot_of_two = 32_K;
  return lengths;
}
// At 4 MiB, chunks as short as elsewhere took 1.04 to 1.15 of the time.
constexpr Lengths kZen4Lengths = for_lent_slots({.largest_chunk = 256_K,
                                                 .moved_chunk = 256_K,
                                                 .loaded_chunk = 1_M,
                                                 .symmetric_one_shot = 4_K,
                                                 .allreduce_in_place = 4_K + 1,
                                                 .long_in_place = 4_K + 1,
                                                 .reduce_in_place = kNever,
                                                 .broadcast_in_place = 24_K,
                                                 .symmetric_from = 4_K + 1,
                                                 .loaded_to = 8_M});
// With a root that was as far ahead as the second cache is large, broadcasts from 16 MiB on took up
// to twice as long. With a quarter of a block, at most 64 KiB, allreduce took up to 1.2 of the
// time. Up to 4 KiB symmetric memory took up to 1.4 of ordinary memory's.
constexpr Lengths kZen5Lengths = {.moved_chunk = 256_K,
                                  .allreduce_chunk = 256_K,
                                  .allreduce_chunk_to = 8_M,
                                  .broadcast_ahead = 256_K,
                                  .long_broadcast = 16_M,
                                  .broadcast_in_place = 4_M,
                                  .symmetric_from = 4_K + 1};

// Of Intel's that no profile names, as measured on one of them. Slots that turned through more than
// the second cache were dear to write there, and those that their last reader writes cheap.
constexpr Lengths intel_lengths() {
  Lengths lengths = kGoldenCove;
  lengths.smallest_chunk = 16_K;
  lengths.moved_chunk = lengths.allreduce_chunk = 64_K;
  lengths.allreduce_chunk_to = kNever;
  lengths.loaded_chunk = 1_M;
  lengths.one_shot = 16_K;
  lengths.one_shot_of_two = 64_K;
  lengths.reduce_in_place = kNever;
  lengths.broadcast_in_place = 24_K;
  lengths.broadcast_ahead = 512_K;
  lengths.long_broadcast = 8_M;
  lengths.long_broadcast_chunk = 128_K;
  lengths.long_exchange = 4_M;
  lengths.long_in_place = 4_K + 1;
  lengths.moved_from = 2 * 64_K + 1;  // blocks that one lent slot holds
  return lengths;
}
// By the rule for Intel's but for a few things. Slots turn in longer calls, too. They are filled
// in parts. Symmetric exchanges from 32 KiB on take 0.8 of what they take through lent slots. And
// outputs of 8 MiB outgrow a third cache that is said to have 48, while those of 4 and 6 are in
// it for whoever reads them next.
constexpr CopyRule kIceLakeSlot = {.string_from = 4_K, .parts_from = 24_K};
constexpr CopyProfile kIceLake = {
    .rules = Rules{CopyRule{.string_from = 4_K, .parts_from = 24_K, .stream_from = 8_M},
                   kIceLakeSlot, CopyRule{.string_from = 4_K}},
    .ahead = 64};
constexpr Reuse kIceLakeReuse = lending({.span = 320_K});
constexpr Lengths ice_lake_lengths() {
  Lengths lengths = intel_lengths();
  lengths.moved_from = 16_K + 1;
  return lengths;
}

struct Known {
  const char* vendor;
  int family, first_model, last_model;
  const char* name;
  CopyProfile copies;
  Reuse reuse;
  Lengths lengths = {};
};
constexpr Known kKnown[] = {
    {"AuthenticAMD", 25, 0x00, 0x0f, "zen3", kZen3, kZen3Reuse, zen3_lengths()},
    {"AuthenticAMD", 25, 0x10, 0x1f, "zen4", kZen4, kZen4Reuse, kZen4Lengths},
    {"AuthenticAMD", 25, 0x20, 0x5f, "zen3", kZen3, kZen3Reuse, zen3_lengths()},
    {"AuthenticAMD", 25, 0x60, 0xff, "zen4", kZen4, kZen4Reuse, kZen4Lengths},
    {"AuthenticAMD", 26, 0x00, 0x4f, "zen5", kZen5, {}, kZen5Lengths},
    {"AuthenticAMD", 26, 0x60, 0x7f, "zen5", kZen5, {}, kZen5Lengths},
    {"GenuineIntel", 6, 0x6a, 0x6a, "ice lake", kIceLake, kIceLakeReuse, ice_lake_lengths()},
    {"GenuineIntel", 6, 0x6c, 0x6c, "ice lake", kIceLake, kIceLakeReuse, ice_lake_lengths()},
    {"GenuineIntel", 6, 0x8f, 0x8f, "sapphire rapids", kSapphireRapids, kGoldenCoveReuse,
     for_lent_slots(kGoldenCove)},
    {"GenuineIntel", 6, 0xcf, 0xcf, "emerald rapids", kEmeraldRapids, kGoldenCoveReuse,
     for_lent_slots(kGoldenCove)},
};

MachineModel model_of(const Known& known) {
  return {known.name, known.copies, known.reuse, known.lengths};
}

// Own memory is filled in four parts, since processors fetch ahead within a page only. Else strings
// where the processor's maker says that they are fast, and never where the destination begins less
// than a line ahead of the source.
CopyProfile copies_by_rule(const Processor& processor, std::size_t below) {
  CopyProfile copies;
  copies.rules[0].parts_from = 24_K;
  if (!processor.fast_strings || processor.l2 == 0) return copies;
  const std::size_t from = processor.fast_short_strings ? 4_K : 8_K;
  for (CopyRule& rule : copies.rules) {
    rule.string_from = from;
    rule.string_below = below;
  }
  copies.ahead = 64;
  return copies;
}

// Only long own outputs are filled past the caches, as on Sapphire Rapids. Pages are fetched ahead
// for slots, if the buffer outgrows the second cache.
CopyProfile intel_copies(const Processor& processor) {
  CopyProfile copies = copies_by_rule(processor, kNever);
  copies.rules[0].stream_from = 24_M;
  if (copies.rules[1].string_from != kNever) copies.rules[1].fetch_from = processor.l2;
  return copies;
}
constexpr const char* kIntel = "intel";
MachineModel of_intel(const Processor& processor) {
  const std::size_t span = processor.l2 / 4;
  return {kIntel, intel_copies(processor), lending({.span = span, .to = span}), intel_lengths()};
}

// Of any other. Slots span twice the second cache, in calls no longer than it; and on all
// processors that were measured symmetric memory was no faster up to 4 KiB, and on all but one
// allreduces there were fastest in place from then on.
MachineModel of_unknown(const Processor& processor) {
  return {
      "unknown", copies_by_rule(processor, processor.l2),
      lending({.span = 2 * processor.l2, .to = processor.l2}),
      for_lent_slots(
          {.allreduce_in_place = 4_K + 1, .long_in_place = 4_K + 1, .symmetric_from = 4_K + 1})};
}

}  // namespace

MachineModel shipped_model(const Processor& processor) {
  for (const Known& known : kKnown)
    if (processor.vendor == known.vendor && processor.family == known.family &&
        processor.model >= known.first_model && processor.model <= known.last_model)
      return model_of(known);
  return processor.vendor == "GenuineIntel" ? of_intel(processor) : of_unknown(processor);
}

std::optional<MachineModel> model_named(const std::string& name) {
  for (const Known& known : kKnown)
    if (name == known.name) return model_of(known);
  if (name != kIntel) return std::nullopt;
  Processor usual;
  usual.fast_strings = usual.fast_short_strings = true;
  usual.l2 = 2_M;
  return of_intel(usual);
}

std::string model_names() {
  std::set<std::string> names{kIntel};
  for (const Known& known : kKnown) names.insert(known.name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace weft

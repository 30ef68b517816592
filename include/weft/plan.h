// A plan: the programs of all ranks for (algorithm, ranks, parameters). It knows
// no byte count, so the plan that was proved is the plan that runs at any size.
//
// Plans are values: copyable, comparable, printable (src/plan/text.h reads the
// text back; the Python package writes and reads JSON). Not synchronised: build
// one in one thread, then share it read-only.
//
// Words used here:
//   block    a message is cut into blocks: `input_blocks` of the input and `output_blocks` of the
//            output. If the collective fixes them (one for each rank) they are the caller's
//            counts. Otherwise they are equal with bounds on cache lines, the last ones shorter or
//            empty.
//   chunk    a block range is cut into chunks of at most one slot. An empty range has one empty
//            chunk, so every message of a plan is always sent.
//   message  what one `put` or `signal` sends to each of its destinations: a number, the signature
//            of the call, and at most one chunk of payload. Messages of one (source, destination,
//            channel) arrive in order.
//   slot     where a payload lies until every destination has given it back with `credit`. A rank
//            has `slots` of them on a channel, used in turn.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/types.h"

namespace weft {

// Seven verbs are what every collective is made of. The eighth hands a whole call to the fabric.
enum class Verb : std::uint8_t {
  kCopy,    // dst (one or two) = src
  kReduce,  // dst (one or two) = src[0] + src[1] + ..., from the left or as a balanced tree
  kPut,     // like copying src into the own slot and then `signal`, but src may be read
            // late: until a `flush`, or until an event that follows the readers' last reads.
            // With a dst for each destination, in its output: written there at once if that is
            // symmetric memory and a message has said where it lies. The reader finds it in the
            // slot either way; copying it from there to that dst, as it must, then writes nothing.
  kSignal,  // sends the own slot as filled (or nothing) to one or many ranks
  kWait,    // until the next message of a peer on a channel is here
  kCredit,  // the oldest message of a peer on a channel is done with, in order
  kFlush,   // until all own puts have been read: their sources may be written again
  kNative,  // the fabric's own function, over the whole buffers: alone in its plan, not proved
};
inline constexpr int kVerbs = 8;
std::string_view name_of(Verb verb);

enum class Buffer : std::uint8_t { kInput, kOutput, kSlot };
std::string_view name_of(Buffer buffer);

// An integer that may advance with the round of a section:
//   at(round) = base + (first + round * stride) mod modulus.
struct Index {
  std::int32_t base = 0;
  std::int32_t first = 0;
  std::int32_t stride = 0;
  std::int32_t modulus = 1;

  Index() = default;
  Index(int value) : base(value) {}  // NOLINT: a constant is an index
  Index(int base, int first, int stride, int modulus)
      : base(base), first(first), stride(stride), modulus(modulus) {}

  int at(int round) const {
    if (modulus == 1) return base;
    // 64 bits: round * stride may pass 2^31 on thousands of ranks.
    auto moved = (first + static_cast<std::int64_t>(round) * stride) % modulus;
    return static_cast<int>(base + (moved < 0 ? moved + modulus : moved));
  }
  bool constant() const { return modulus == 1; }
  auto operator<=>(const Index&) const = default;
};

// `blocks` consecutive blocks of the input or the output, from `block` on.
struct Range {
  Buffer buffer = Buffer::kInput;  // never kSlot
  Index block;
  std::int32_t blocks = 1;
  auto operator<=>(const Range&) const = default;
};

// An operand that a step reads or writes.
//   kInput, kOutput  `range` of rank `rank`'s buffer, and of it the step's current
//                    chunk. Another rank's needs symmetric memory there, a pair that
//                    can load and store, and a payload-free message from its owner first.
//   kSlot, own rank  the slot that the next `signal` on `channel` sends.
//   kSlot, a peer    the payload of the oldest message from it on `channel` that has
//                    been waited for and not yet credited.
struct Operand {
  Buffer buffer = Buffer::kInput;
  Index rank;
  Range range;               // kInput, kOutput
  std::uint8_t channel = 0;  // kSlot
  auto operator<=>(const Operand&) const = default;
};

struct Step {
  Verb verb = Verb::kCopy;
  std::uint8_t channel = 0;  // put, signal, wait, credit
  std::uint8_t lag = 0;      // works on chunk (trip - lag): a software pipeline
  bool last = false;  // reduce: applies the scale of avg and premul_sum, and is the only one to
  // reduce: added up as a balanced binary tree, not from the left. The tree over n sources splits
  // them at the largest power of two below n: (a + b) + (c + d), ((a + b) + (c + d)) + e. Over
  // all ranks in order it is the one tree that all `reproducible` plans add up in.
  bool tree = false;
  Range extent;  // its chunks are this step's; every other range has the same size
  std::vector<Operand> dst;
  std::vector<Operand> src;
  std::vector<Index> peers;  // put, signal: destinations; wait, credit: the one source
  auto operator<=>(const Step&) const = default;
};

// A section runs its steps for each round, and in a chunked section for each trip:
//   for round in 0 .. rounds-1:
//     for trip in 0 .. max over steps of (chunks(step, round) + lag) - 1:
//       for each step: if 0 <= trip - lag < chunks(step, round): run it
// A section that is not chunked runs each step once a round, on whole ranges,
// and touches no slot.
struct Section {
  std::int32_t rounds = 1;
  bool chunked = true;
  std::vector<Step> steps;
  auto operator<=>(const Section&) const = default;
};

using Program = std::vector<Section>;

// In what type a channel's payloads are.
enum class Width : std::uint8_t {
  kPlain,   // as in the buffers
  kWide,    // the accumulator type: f32 under f16 and bf16
  kNarrow,  // the type on the wire: bf16 under f32. A step that fills such a slot rounds once, and
            // writes the rounded value to its other destination as well
};

// Separates the messages of a plan. Each channel has its own slots.
struct Channel {
  std::int32_t slots = 1;  // payloads in flight, per sending rank, all destinations together
  Width width = Width::kPlain;
  auto operator<=>(const Channel&) const = default;
};

// How many messages of one (source, destination, channel) may be uncredited at a time. Plans are
// proved with this number. Fabrics hold at least as many.
inline constexpr int kMailboxDepth = 8;
// How many Weft's own fabrics hold. Plans are priced with this number.
inline constexpr int kFabricMailboxDepth = 64;
static_assert(kFabricMailboxDepth >= kMailboxDepth);
// Channels a plan may use.
inline constexpr int kMaxChannels = 8;
// Bytes that a communicator has on each rank for the slots of a plan. They fit the cache that two
// cores share, and hold the slots of any built-in plan on eight ranks.
inline constexpr std::size_t kSlotBytes = std::size_t{4} << 20;

// The value of a plan's parameter: a number, a word (letters, digits and "_"), or a list of
// numbers, such as an order of ranks.
class Param {
 public:
  Param(int number = 0) : value_(number) {}                  // NOLINT: a number is one
  Param(std::vector<int> list) : value_(std::move(list)) {}  // NOLINT
  Param(std::string word);                                   // NOLINT
  Param(const char* word) : Param(std::string(word)) {}      // NOLINT

  // Throw InvalidArgument if it is of another kind.
  int number() const;
  const std::string& word() const;
  const std::vector<int>& list() const;
  operator int() const { return number(); }  // NOLINT: most of them are

  const std::variant<int, std::string, std::vector<int>>& value() const { return value_; }
  // Only for Param itself, so that a comparison with a number stays one of numbers.
  template <std::same_as<Param> P>
  friend auto operator<=>(const P& a, const P& b) {
    return a.value_ <=> b.value_;
  }
  template <std::same_as<Param> P>
  friend bool operator==(const P& a, const P& b) {
    return a.value_ == b.value_;
  }

 private:
  std::variant<int, std::string, std::vector<int>> value_;
};
// "4", "ring", "[0,2,1]".
std::string to_text(const Param& param);

using Params = std::map<std::string, Param>;
// The parameter `name`, or `fallback` if it is not there. Throws InvalidArgument if it is not of
// the fallback's kind.
const Param& param_of(const Params& params, const std::string& name, const Param& fallback);

// What all ranks share. Equal on all ranks by construction.
struct PlanShape {
  std::string algorithm;  // "allreduce/ring"
  Collective collective = Collective::kBarrier;
  std::int32_t ranks = 1;
  Params params;  // "root" included where the collective has one
  std::int32_t input_blocks = 1;
  std::int32_t output_blocks = 1;
  std::vector<Channel> channels;
  // If a caller may give a count for each rank: all counts must be equal, since blocks are kept
  // where others belong.
  bool equal_counts = false;
  // alltoall: the output may be the input. For other collectives every plan is proved so.
  bool in_place = false;
  auto operator<=>(const PlanShape&) const = default;
};

struct Plan {
  PlanShape shape;
  std::vector<Program> programs;  // by rank
  auto operator<=>(const Plan&) const = default;
};

// One rank's program, as the engine runs it.
struct RankPlan {
  PlanShape shape;
  Program program;
};

// A number equal for equal shapes, compared between ranks at the start of every call.
std::uint32_t digest(const PlanShape& shape);

// Readable text and back. parse_plan throws InvalidPlan naming the line.
std::string to_text(const Plan& plan);
std::string to_text(const Step& step);
Plan parse_plan(std::string_view text);

}  // namespace weft

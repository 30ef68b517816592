// A plan bound to a call: everything a run needs and nothing that it changes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "fabric/fabric.h"
#include "kernels/kernels.h"
#include "plan/partition.h"
#include "weft/plan.h"

namespace weft {

class Natives;

// Messages of at most `to` bytes, to one rank that sends as well, go in slots that are lent. The
// `turn` slots that came back last are filled in turn.
struct Lending {
  std::size_t to = 0;
  std::size_t turn = 1;
};

struct Binding {
  std::shared_ptr<const RankPlan> plan;

  // Indexed by Buffer: input, output.
  std::array<std::byte*, 2> user{};
  std::array<Partition, 2> parts;
  std::array<Location, 2> where{};  // set where the user's buffer is used as symmetric memory
  bool symmetric = true;            // whether symmetric memory is used as such
  // The run reads a copy of the input: the output is the same memory, and the plan was not proved
  // so.
  bool copies_input = false;
  // What a run writes of its output it has read shortly before: an input in the same memory.
  bool rewrites = false;

  std::size_t element = 1;      // bytes of an element
  std::size_t accumulator = 1;  // the same in a wide slot
  std::size_t wire = 1;         // the same in a narrow slot
  std::size_t chunk = 1;        // elements of a chunk
  std::size_t places = 1;       // that each slot turns through; each rank's own
  Lending lending;              // each rank's own
  kernels::ReduceFn reduce = nullptr;
  // For steps with a narrow slot; all other operands count as wide there; null: narrow slots are as
  // the buffers.
  kernels::ReduceFn reduce_narrow = nullptr;
  double scale = 1.0;
  Natives* natives = nullptr;  // whose function a native step runs; null where there is none

  // Another number for anything else but buffers; 0: not to be remembered.
  std::uint64_t revision = 0;

  Signature signature;
  bool count_by_pair = false;  // signature.count is the size of a message's extent

  // Follow from the above: prepare() sets them.
  std::array<std::size_t, kMaxChannels> slots{};  // bytes of slot memory before a channel's
  bool uses_slots = false;                        // a run may put payload into slot memory
  bool delivers = false;  // ranks write into others' outputs, so others may into this one's

  // The endpoint's members and channels for the plan's ranks and channels: the same numbers, unless
  // a plan runs on some members only (point to point).
  std::array<int, 2> pair{-1, -1};
  int first_channel = 0;

  // To be called once plan, types and chunk are set, and before a run.
  void prepare();

  const Partition& part(Buffer buffer) const { return parts[static_cast<std::size_t>(buffer)]; }
  int member(int plan_rank) const {
    return pair[0] < 0 ? plan_rank : pair[static_cast<std::size_t>(plan_rank)];
  }
  // Bytes of an element.
  std::size_t bytes_in(Width width) const {
    return width == Width::kWide ? accumulator : width == Width::kNarrow ? wire : element;
  }
  // As kernels::Source and Target have it.
  bool is_wide(Width width) const {
    return reduce_narrow ? width != Width::kNarrow : width == Width::kWide;
  }
  std::size_t slot_bytes(const Channel& channel) const {
    // Slots start on cache lines, so that two never share one.
    return (chunk * bytes_in(channel.width) + 63) / 64 * 64;
  }
};

// "allreduce sum of 8 float32", for messages to people.
std::string describe(const Signature& signature);
// The part of a call that its signature does not say: " (input_counts 3, 2, output_counts 1, 4)".
std::string details(const Binding& binding);
// Both, of a call here.
std::string describe(const Binding& binding);

}  // namespace weft

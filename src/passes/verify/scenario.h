// The calls for which a plan is executed: sizes, counts by rank, placements. And the one call
// that stands for all of them, whose counts are variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/walk.h"
#include "weft/plan.h"

namespace weft::verifier {

// Elements of a chunk. Two is the least that has a tail shorter than a chunk.
inline constexpr std::size_t kChunk = 2;

// Whether `rank` has an input, an output. Of a rooted collective the large side is the
// root's alone; the others know its counts, and may name its blocks as an extent.
bool has_input(const PlanShape& shape, int rank);
bool has_output(const PlanShape& shape, int rank);
// The parameter "root": -1 where it is missing or no number, 0 where the collective has none.
int root_of(const PlanShape& shape);

// One call.
struct Scenario {
  std::string name;              // "3 chunks a block, 14 elements, in place"
  std::vector<Partition> input;  // by rank
  std::vector<Partition> output;
  std::vector<bool> in_place;  // by rank: each caller places its own buffers
  // All outputs are symmetric memory, where puts with destinations write them. If a plan is right
  // here and where no output is symmetric, it is right for any mixture: a put into one rank's
  // output touches nothing of another's except what a slot would.
  bool symmetric = false;

  const Partition& part(int rank, Buffer buffer) const {
    return (buffer == Buffer::kInput ? input : output)[static_cast<std::size_t>(rank)];
  }
  // Elements of a range in `round`; 0 for a range of no blocks.
  std::size_t size(int rank, const Range& range, int round) const {
    return size_of(range, round, part(rank, Buffer::kInput), part(rank, Buffer::kOutput));
  }
};

// A size for all counts at once: a sum of size variables. Equal sums are equal sizes in every call.
// It is kept as a fingerprint: a variable is 64 hashed bits, a sum is added up modulo 2^64, so that
// different sums look equal once in 2^64.
using Sum = std::uint64_t;

// The call whose counts are size variables: its sizes and offsets are Sums. Variables are the
// count, the blocks that the algorithm declares (the last one is what the others leave of the
// count), and where counts may differ one for each rank, or pair of ranks in an alltoall.
Scenario variables_of(const PlanShape& shape);

// One plan with one call.
struct BoundPlan {
  const Plan* plan;
  const Scenario* scenario;
  const Scenario* variables;
};

// The chunks a block beyond which more chunks bring nothing new: twice the trips that the plan can
// have under way, and one. Slots, mailboxes and lags bound the trips.
int enough_trips(const Plan& plan);

// Every size whose largest block has `trips` chunks, the last one of a single element or
// whole, in every placement.
std::vector<Scenario> scenarios_of(const PlanShape& shape, int trips);

}  // namespace weft::verifier

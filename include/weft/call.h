// What a collective call is: its arguments. weft/collective.h says what each collective is.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

#include "weft/types.h"

namespace weft {

// One collective call. Buffers stay valid and unwritten (inputs) or untouched (outputs)
// until it has finished.
//
//   collective      input elements      output elements
//   allreduce       count               count
//   broadcast       count (root)        count            input is read at the root only
//   reduce          count               count (root)
//   allgather       count               count * size
//   reduce_scatter  count * size        count
//   alltoall        count * size        count * size
//   gather          count               count * size (root)
//   scatter         count * size (root) count
//   barrier         -                   -
//
// `input_counts` or `output_counts` (elements, one for each rank) replace `count` on their side:
// alltoall both; allgather and gather output_counts, with count the
// own contribution; reduce_scatter and scatter input_counts, with count the own share.
// In place: input == output for allreduce, broadcast, reduce, alltoall; the own block of the larger
// buffer for the others. Any other overlap is refused. An alltoall in place needs equal counts on
// both sides of this rank. Unless its plan was proved in place (PlanShape::in_place) the
// communicator copies the input first, into memory that it keeps for the next such call.
struct Call {
  Collective collective = Collective::kBarrier;
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  DType dtype = DType::kU8;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  double scale = 1.0;  // kPremulSum's factor, equal on all ranks
  std::span<const std::size_t> input_counts = {};
  std::span<const std::size_t> output_counts = {};
  // Overrides selection: "ring", "allreduce/multi_leader(node=4,chunk=64K)". Equal on all ranks.
  std::string_view algorithm = {};
  // The buffers of all ranks are in symmetric memory. Selection then uses rows that were measured
  // with such buffers. Equal on all ranks. If it is not true, the chosen algorithm may reach into
  // peers' memory, which throws InvalidArgument.
  bool symmetric = false;
  // Zero: the communicator's.
  std::chrono::milliseconds timeout{0};
};

}  // namespace weft

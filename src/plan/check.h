// The rules that a single step must keep, whatever the other ranks do. Used by the
// builder, so that a mistake is reported at the line that makes it.
#pragma once

#include <string>

#include "weft/plan.h"

namespace weft {

// The place of a step.
struct StepPlace {
  int rank;
  const PlanShape& shape;
  bool chunked;
};

// What is wrong with the step and what to do instead; empty if nothing is.
// Requires constant indexes, as the builder writes them.
std::string fault_of(const Step& step, const StepPlace& place);

// The extent of a step that goes with no range.
inline Range no_range() { return {Buffer::kInput, 0, 0}; }

// The range of the first input or output operand, destinations first; no_range()
// if there is none.
Range range_of(const Step& step);

// The blocks that a collective fixes; {-1, -1} where the algorithm is free to choose.
struct Blocks {
  int input;
  int output;
};
Blocks fixed_blocks(Collective collective, int ranks);

}  // namespace weft

// Folding: consecutive sections that differ only in indexes that advance by a constant stride
// (modulo something) become rounds of one section.
//
//   once { signal 1 }  once { signal 2 }  once { signal 3 }
//   ==>  once, 3 rounds { signal 0 + (1 + 1*round) mod 4 }
//
// A section with rounds runs them one after the other, so folding changes nothing
// that can be observed: expand(fold(p)) == expand(p), always. Greedy from the left,
// the longest run first; linear in the length of the program. The form of an index
// is a function of its values alone, so equal programs fold to equal programs.
#pragma once

#include "weft/plan.h"

namespace weft {

// Sections that have rounds already are kept as they are.
Program fold(const Program& program);

// Every round a section of its own, every index a constant.
Program expand(const Program& program);

// Calls `visit` with every index of a step, extent first. `S` is Step or const Step.
template <typename S, typename Visit>
void for_each_index(S& step, Visit&& visit) {
  visit(step.extent.block);
  for (auto* operands : {&step.dst, &step.src}) {
    for (auto& operand : *operands) {
      visit(operand.rank);
      visit(operand.range.block);
    }
  }
  for (auto& peer : step.peers) visit(peer);
}

}  // namespace weft

// Whether two ranks' programs differ only in the peers.
#pragma once

#include <cstdint>
#include <vector>

#include "passes/cost/renumber.h"
#include "weft/plan.h"

namespace weft::cost {

// Which rules lead from a base's step to other ranks', as bits; by section and step.
using Rules = std::vector<std::vector<std::uint8_t>>;
Rules all_rules(const Program& base);

// Leaves in `rules` those that lead from the base's program to that of `rank`. Blocks are not
// looked at: they are taken as equally long. False: the programs differ otherwise, or a step has
// no rule left.
bool narrow(Rules& rules, const Renumber& renumber, int rank, const Program& base,
            const Program& other);

}  // namespace weft::cost

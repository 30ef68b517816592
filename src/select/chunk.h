// How long chunks are where nobody says it.
#pragma once

#include <cstddef>

#include "base/machine_model.h"
#include "weft/plan.h"

namespace weft {

struct ChunkRule {
  std::size_t asked = 0;  // bytes, at most; 0: by the size of a block
  bool crowded = false;   // ranks outnumber their cores
  bool across = false;    // ranks are on several nodes
  int rails = 1;          // ways between these, which a block is to take all of
  Lengths lengths = {};   // the machine's; of a price no machine's
};

// Elements of a chunk. `arena` bytes hold the slots of the whole plan; `block` is the size
// of the largest block in elements, or 0 where ranks may differ on it.
std::size_t chunk_elements(const PlanShape& shape, std::size_t block, std::size_t element,
                           std::size_t accumulator, std::size_t arena, const ChunkRule& rule);

}  // namespace weft

// Which algorithm serves a call. Everything it looks at is equal on all ranks: the call's
// arguments, the number of ranks and the settings merged when the communicator was made.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/communicator.h"
#include "weft/plan.h"

namespace weft {

// What the environment may change, and what ranks know of each other. The same on all ranks.
struct Settings {
  // WEFT_ALGORITHM: "ring" for every collective that has one, or "allreduce=ring,broadcast=chain".
  std::string algorithm;
  // WEFT_CHUNK: bytes of a chunk, at most; 0: chosen by size.
  std::size_t chunk = 0;
  // WEFT_REPRODUCIBLE=1, or the communicator's option, on any rank: sums whose bits depend on
  // nothing but the inputs and the number of ranks.
  bool reproducible = false;
  // Ranks outnumber the cores that they have together. Not of the environment, nor in the text.
  bool crowded = false;

  static Settings from_environment();
  // Of what the environment says: rank 0's is used on all ranks.
  std::string to_text() const;
  static Settings parse(const std::string& text);
};

struct Choice {
  std::string algorithm;
  Params params;
};

// Throws InvalidArgument for an unknown override, Unsupported for one that refuses `ranks` or that
// is not reproducible where that is asked for.
Choice choose(const Call& call, int ranks, const Settings& settings);

// Elements of a chunk. `arena` bytes hold the slots of the whole plan; `block` is the size
// of the largest block in elements, or 0 where ranks may differ on it.
std::size_t chunk_elements(const PlanShape& shape, std::size_t block, std::size_t element,
                           std::size_t accumulator, std::size_t arena, const Settings& settings);

}  // namespace weft

// Parameters that a topology answers, where the caller leaves them open.
//
// They go by their names, so they fit any algorithm, also a user's own:
//   node   ranks a node (ranks_a_node in weft/topology.h), or where they lie otherwise
//   place  the node of each rank (place_of)
//   tree   the topology as a tree over the ranks (tree_of)
// An algorithm that does not ask for one, or refuses what would be filled in, keeps its default.
#pragma once

#include <vector>

#include "weft/algorithm.h"
#include "weft/topology.h"

namespace weft {

// The parameters to add to `params`: those of the names above that `algorithm` asks for and that
// are neither in `params` nor in the algorithm's preset. The first `ranks` ranks of the topology
// take part.
// Throws InvalidArgument if it has fewer, and as the algorithm does. Thread safe.
Params fit(const Algorithm& algorithm, int ranks, const Params& params, const Topology& topology);
// The same for `node` and `place` only, if no more than the node of each rank is known.
Params fit_place(const Algorithm& algorithm, int ranks, const Params& params,
                 const std::vector<int>& place);

}  // namespace weft

// One node: ranks that share memory.
#pragma once

#include "weft/communicator.h"
#include "weft/measure.h"
#include "weft/topology.h"

namespace weft::measuring {

// As measure(), of ranks that all load each other's memory. Vertices are the ranks, and there is a
// link for each pair (a, b), a < b, in that order.
Topology measure_node(Communicator& communicator, const MeasureOptions& options);

}  // namespace weft::measuring

// Nodes and what joins them as one topology.
#pragma once

#include "measure/network.h"
#include "weft/topology.h"

namespace weft::measuring {

// `parts` are the nodes as measure_node gives them. Vertices are the ranks, then for each node the
// place where the network attaches, which each of its ranks reaches at the rate of one alone, then
// the network, which a node reaches at the rate of all its ranks. Of a node's two neighbours around
// the faster says what its own link carries, since the slower end decides; of the latencies it is
// the mean, half of it to each end. Rates are those of the largest node.
Topology joined(const Members& nodes, const std::vector<Topology>& parts, const Network& network);

}  // namespace weft::measuring

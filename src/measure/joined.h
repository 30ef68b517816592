// Nodes and what joins them as one topology.
#pragma once

#include "measure/network.h"
#include "weft/topology.h"

namespace weft::measuring {

// `parts` are the nodes as measure_node gives them. Vertices are the ranks, then for each node the
// place where the network attaches, then the network. A rank reaches its node's place at the rate
// of one rank alone. The place reaches the network at the rate of all the node's ranks. Of a node's
// two neighbours the faster one gives the rate of the node's own link, since the slower end
// decides; of the latencies it is
// the mean, half of it to each end. Rates are those of the largest node.
Topology joined(const Members& nodes, const std::vector<Topology>& parts, const Network& network);

}  // namespace weft::measuring

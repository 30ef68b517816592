// The connection between a pair of ranks.
#pragma once

#include "weft/topology.h"

namespace weft::cost {

struct Route {
  double latency = 0;    // seconds
  double bandwidth = 0;  // of the narrowest link; 0: they are one vertex
  bool memory = false;   // all links are
};

Route route_between(Routes& routes, const Topology& topology, int from, int to);

}  // namespace weft::cost

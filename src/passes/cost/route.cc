#include "passes/cost/route.h"

#include <algorithm>
#include <cstddef>

namespace weft::cost {

Route route_between(Routes& routes, const Topology& topology, int from, int to) {
  Route route;
  route.memory = true;
  bool first = true;
  for (const Routes::Hop& hop : routes.path(from, to)) {
    const Topology::Link& link = topology.links[static_cast<std::size_t>(hop.link)];
    const int begin = hop.forward ? link.a : link.b;
    if (!first) route.latency += topology.vertices[static_cast<std::size_t>(begin)].latency;
    route.latency += link.latency;
    route.bandwidth =
        route.bandwidth > 0 ? std::min(route.bandwidth, link.bandwidth) : link.bandwidth;
    route.memory = route.memory && link.memory;
    first = false;
  }
  return route;
}

}  // namespace weft::cost

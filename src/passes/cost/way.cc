#include "passes/cost/way.h"

#include <algorithm>
#include <cstddef>

namespace weft::cost {

Way way_between(Routes& routes, const Topology& topology, int from, int to) {
  Way way;
  way.memory = true;
  bool first = true;
  for (const Routes::Hop& hop : routes.path(from, to)) {
    const Topology::Link& link = topology.links[static_cast<std::size_t>(hop.link)];
    const int begin = hop.forward ? link.a : link.b;
    if (!first) way.latency += topology.vertices[static_cast<std::size_t>(begin)].latency;
    way.latency += link.latency;
    way.bandwidth = way.bandwidth > 0 ? std::min(way.bandwidth, link.bandwidth) : link.bandwidth;
    way.memory = way.memory && link.memory;
    first = false;
  }
  return way;
}

}  // namespace weft::cost

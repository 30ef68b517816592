#include "passes/cost/way.h"

#include <algorithm>
#include <cstddef>

namespace weft::cost {

Way way_between(Routes& routes, const Topology& topology, int from, int to) {
  Way way;
  way.latency = routes.latency(from, to);
  way.memory = true;
  for (const Routes::Hop& hop : routes.path(from, to)) {
    const Topology::Link& link = topology.links[static_cast<std::size_t>(hop.link)];
    way.bandwidth = way.bandwidth > 0 ? std::min(way.bandwidth, link.bandwidth) : link.bandwidth;
    way.memory = way.memory && link.memory;
  }
  return way;
}

}  // namespace weft::cost

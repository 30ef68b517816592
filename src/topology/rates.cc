#include <algorithm>
#include <cmath>

#include "weft/topology.h"

namespace weft {
namespace {

// Between two rates, where 0 is no time.
double between(double near, double far, double share) {
  const double inverse = (near > 0 ? (1 - share) / near : 0) + (far > 0 ? share / far : 0);
  return inverse > 0 ? 1 / inverse : 0;
}

}  // namespace

Topology::Rates rates_at(const Topology& topology, double bytes) {
  const auto& known = topology.by_size;
  if (known.empty()) return {bytes, topology.copy, topology.reduce, 0, 0};
  const auto more = std::find_if(known.begin(), known.end(),
                                 [&](const Topology::Rates& one) { return one.bytes >= bytes; });
  if (more == known.begin()) return known.front();
  if (more == known.end()) return known.back();
  const Topology::Rates &a = *(more - 1), &b = *more;
  const double share = std::log(bytes / a.bytes) / std::log(b.bytes / a.bytes);
  return {bytes, between(a.copy, b.copy, share), between(a.reduce, b.reduce, share),
          between(a.fetch, b.fetch, share), between(a.store, b.store, share)};
}

}  // namespace weft

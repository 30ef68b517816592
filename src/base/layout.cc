#include "base/layout.h"

#include <algorithm>

#include "base/hwloc.h"

namespace weft {

Layout read_layout() {
#if WEFT_HWLOC
  return read_hwloc();
#else
  Layout unknown;
  unknown.missing =
      "not built, because hwloc's headers were not found (Debian, Ubuntu: libhwloc-dev)";
  return unknown;
#endif
}

int domain_of(const std::vector<Domain>& domains, const std::vector<int>& processors) {
  for (const Domain& domain : domains) {
    const auto inside = [&](int processor) {
      return std::find(domain.processors.begin(), domain.processors.end(), processor) !=
             domain.processors.end();
    };
    if (!processors.empty() && std::all_of(processors.begin(), processors.end(), inside))
      return domain.number;
  }
  return -1;
}

}  // namespace weft

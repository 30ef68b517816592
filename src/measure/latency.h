#pragma once

#include "measure/probe.h"

namespace weft::measuring {

// One way, in seconds, as this rank sees it, which is `a` or `b`: the median of `times` looks at
// the clock with so many messages there and back between two.
double latency(Probe& probe, int a, int b, int trips, int times);

}  // namespace weft::measuring

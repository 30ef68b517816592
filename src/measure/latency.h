#pragma once

#include "measure/probe.h"

namespace weft::measuring {

// Seconds of one way, as seen by this rank, which is `a` or `b`. It is the median of `times` looks
// at the clock, with several messages there and back between two looks.
double latency(Probe& probe, int a, int b, int trips, int times);

}  // namespace weft::measuring

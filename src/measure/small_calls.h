// What a call and a step take besides messages and bytes.
#pragma once

#include "measure/probe.h"
#include "weft/topology.h"

namespace weft::measuring {

// As weft::seconds_of, where there is a probe already.
double seconds_of(Probe& probe, const Call& call, int times);

// Sets `call` and `step` of a topology whose latencies are known: a rank by itself says what a call
// of one step takes, and small calls of all ranks what the others do, on the mean. Collective;
// equal on all ranks.
void fit_small_calls(Probe& probe, Topology& topology, int times);

}  // namespace weft::measuring

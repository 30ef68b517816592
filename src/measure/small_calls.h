// The time of a call and of a step besides messages and bytes.
#pragma once

#include "measure/probe.h"
#include "weft/topology.h"

namespace weft::measuring {

// As weft::seconds_of, where there is a probe already.
double seconds_of(Probe& probe, const Call& call, int times);

// Sets `call` and `step` of a topology whose latencies are known. A rank by itself shows the time
// of a call of one step. Small calls of all ranks show the mean time of the other steps.
// Collective;
// equal on all ranks.
void fit_small_calls(Probe& probe, Topology& topology, int times);

}  // namespace weft::measuring

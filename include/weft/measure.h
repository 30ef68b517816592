// What this machine takes, as a topology that the cost model can use.
#pragma once

#include "weft/communicator.h"
#include "weft/topology.h"

namespace weft {

struct MeasureOptions {
  // Bytes of a rank's buffers in the longest loops. The default is beyond the caches of most
  // processors.
  std::size_t largest = std::size_t{64} << 20;
  // How often each loop is repeated; medians count.
  int times = 15;
};

// Measures the ranks of a communicator on one machine: for each pair the latency of a message and
// the bandwidth at which one reads what the other wrote; the rates of copies and reductions in
// caches and beyond, all ranks at once; and what a call and a step take besides.
//
// Collective; nothing else may use the communicator meanwhile. Takes some 0.3 s for two ranks, and
// a few milliseconds more for each further pair. Equal on all ranks. Threads should be pinned, as
// far as they are in what is to be predicted.
//
// Throws Unsupported where ranks outnumber the cores that they have together (they take turns,
// which no topology describes) or do not share memory, and what the communicator throws.
Topology measure(Communicator& communicator, const MeasureOptions& options = {});

// Seconds that `call` takes until its last rank is through, where it is made over and over: the
// median of `times`. Each begins when all ranks have met and ends when they meet again, and the
// time of a meeting is taken off. Zeros are written into the input before each; input_counts are
// not heeded. Collective; equal on all ranks.
double seconds_of(Communicator& communicator, const Call& call, int times);

}  // namespace weft

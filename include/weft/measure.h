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

// Measures the ranks of a communicator. In each node, all nodes at once: for each pair the latency
// of a message and the bandwidth at which one reads what the other wrote; the rates of copies and
// reductions in caches and beyond, all ranks at once; and what a call and a step take besides.
// Between nodes, one after the other around: the latency of a message, and the bandwidth of one
// rank and of all ranks of a node to the next.
//
// The topology's vertices are the ranks, with their nodes and sockets (by hwloc, of the processors
// that a rank's thread may run on). With several nodes there follow a port of each, to which its
// ranks are joined, and one network that joins the ports: whether some nodes are nearer to each
// other than others is not looked for.
//
// Collective; nothing else may use the communicator meanwhile. Takes some 0.3 s for two ranks, and
// a few milliseconds more for each further pair; a node more takes what 4 * `times` MiB take.
// Equal on all ranks. Threads should be pinned, as far as they are in what is to be predicted.
//
// Throws Unsupported where ranks outnumber the cores that they have together (they take turns,
// which no topology describes) or those of one node do not share memory, and what the communicator
// throws.
Topology measure(Communicator& communicator, const MeasureOptions& options = {});

// Seconds that `call` takes until its last rank is through, where it is made over and over: the
// median of `times`. Each begins when all ranks have met and ends when they meet again, and the
// time of a meeting is taken off. Zeros are written into the input before each; input_counts are
// not heeded. Collective; equal on all ranks.
double seconds_of(Communicator& communicator, const Call& call, int times);

}  // namespace weft

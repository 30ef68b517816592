// Measures this machine into a topology for the cost model.
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

// Measures the ranks of a communicator. All nodes measure at once: for each pair of ranks the
// latency of a message and the bandwidth at which one reads what the other wrote; the rates of
// copies and reductions in caches and beyond, all ranks at once; and the further time of a call and
// of a step. Then node after node measures the way to the next node: the latency of a message, and
// the bandwidth of one rank and of all ranks.
//
// The topology's vertices are the ranks, with their nodes and sockets (by hwloc, of the processors
// that a rank's thread may run on). With several nodes, each node also has a port that joins its
// ranks, and one network joins the ports. It is not measured whether some nodes are nearer to each
// other than others.
//
// Collective; nothing else may use the communicator meanwhile. Takes some 0.3 s for two ranks, and
// a few milliseconds more for each further pair. Each further node takes the time of 4 * `times`
// MiB.
// Equal on all ranks. Pin threads if they are pinned in the program to be predicted.
//
// Throws Unsupported if ranks outnumber their cores (they take turns, and no topology describes
// that), or if the ranks of one node do not share memory. Also throws the errors of the
// communicator.
Topology measure(Communicator& communicator, const MeasureOptions& options = {});

// Seconds of `call` until its last rank has finished, when it is repeated: the median of `times`.
// Each begins when all ranks have met and ends when they meet again, less the time of a meeting.
// Zeros are written into the input before each. input_counts are ignored. Collective; equal on all
// ranks.
double seconds_of(Communicator& communicator, const Call& call, int times);

}  // namespace weft

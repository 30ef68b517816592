// Which processors of a process compute, and which of them its worker thread may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"

namespace weft {

// The ranks that have the same affinity mask on one machine divide it evenly.
struct Share {
  int rank = 0, ranks = 1;  // this one among them, and how many they are
};

// What the launcher's variables say: all ranks of this host, as if they had one mask.
Share launched_share();

// Of `rank` among all ranks' cpu_share(): those with the same text divide one mask.
Share share_of(const std::vector<std::string>& shares, int rank);

// Of the processors that it may use.
struct Split {
  std::vector<int> compute;  // the first ones of the share
  std::vector<int> left;     // of the rest, those whose core does not compute
};
// `threads`: that compute; 0: as many as the share has processors. A quota of the cgroup makes the
// share smaller. Siblings are read below `probe.root`.
Split split_processors(const CpuLimits& limits, Share share, int threads,
                       const CpuProbe& probe = {});

// OMP_NUM_THREADS, of a list the first number; 0: it is not set, or says nothing of use.
int openmp_threads();

// Names the calling thread, binds it to `cores`, unless they are empty, and sets its nice value, if
// one is given. Returns an errno, 0: done.
int place_this_thread(const char* name, const std::vector<int>& cores, std::optional<int> nice);

}  // namespace weft

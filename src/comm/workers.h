// From options, environment and machine to the worker of a rank's engine.
#pragma once

#include <string>
#include <vector>

#include "base/placement.h"
#include "engine/engine.h"
#include "weft/workers.h"

namespace weft {

// `asked`, filled up from the environment. Throws InvalidArgument naming the option or variable and
// the remedy where a value is wrong, cores are outside of the mask of `limits`, or this process may
// not have the nice value; Unsupported for a count above 1.
WorkerOptions read_workers(const WorkerOptions& asked, const CpuLimits& limits);

struct WorkerPlan {
  Worker worker;
  std::vector<int> compute;  // processors that compute
  std::string why;           // the worker is where it is, and what would change that
};
// REQUIRES options of read_workers().
WorkerPlan plan_worker(const WorkerOptions& options, const CpuLimits& limits, Share share,
                       const CpuProbe& probe = {});

// Throws InvalidArgument if `asked` contradicts the worker that the engine already has.
void check_same_worker(const WorkerOptions& asked, const Worker& worker);

}  // namespace weft

// The thread that carries on asynchronous calls: whether there is one, and where it runs.
#pragma once

#include <optional>
#include <vector>

namespace weft {

// Each field that is not set is what its variable of the environment says, else automatic. A fabric
// has one worker, which its communicators share. It starts when the first asynchronous call needs
// it.
struct WorkerOptions {
  // 1: asynchronous calls go on by themselves. That is automatic. 0: only threads that are inside a
  // call of Weft carry them on. Then a call may finish late, and its callbacks run in such a
  // thread. WEFT_WORKERS.
  std::optional<int> count = {};
  // The processors that the worker may run on, all of this process's affinity mask. Automatic:
  // those of this rank's share that its compute threads leave free. A free processor that shares
  // its core with a compute thread does not count. If none is free the worker is not bound.
  // WEFT_WORKER_CORES.
  std::optional<std::vector<int>> cores = {};
  // The nice value of the thread, -20 to 19. Below this process's own it needs a privilege.
  // Automatic: the process's own. WEFT_WORKER_NICE.
  std::optional<int> nice = {};
  // Threads that compute in this process: on the first processors of its share. Automatic: what
  // OMP_NUM_THREADS says, else one on each.
  std::optional<int> compute_threads = {};

  bool operator==(const WorkerOptions&) const = default;
};

}  // namespace weft

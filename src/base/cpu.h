// How many cores this process may keep busy. A thread that spins on a core which another
// rank needs makes both slow, so waiting asks here first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// Where the facts are read from; the defaults are this process's. Tests put others here.
struct CpuProbe {
  std::string root;             // before every path: root + "/proc/self/cgroup"
  std::optional<int> affinity;  // in place of the calling thread's mask
};

struct CpuLimits {
  int affinity = 1;             // processors in the calling thread's affinity mask
  std::vector<int> processors;  // their numbers
  double quota = 0;             // processors' worth of time that the cgroups grant; 0: no limit
  std::string quota_file;       // the file that says so, the tightest of the process's cgroups

  // The lesser of both, a part of a core counting as one. At least 1.
  int usable() const;
};

// Walks cgroup v2 and the v1 cpu controller from the process's own group up to the
// mount, since a parent's quota binds its children. A limit that cannot be read does not count.
// Read afresh at each call: quotas and masks change. Thread safe.
CpuLimits cpu_limits(const CpuProbe& probe = {});

// cpu_limits().usable()
int usable_cores();

// Numbers that grow, as the kernel lists processors: "0-3,8".
std::string ranges_of(const std::vector<int>& numbers);
// Back, sorted, each number once. Nothing for any other text, and for numbers of 65536 or more.
std::optional<std::vector<int>> read_ranges(const std::string& text);

// This process's limits and its machine, for the other ranks of a job.
std::string cpu_share(const CpuProbe& probe = {});

// The ranks of one machine, and the cores that their limits leave them together. Ranks that are
// each bound to one core have as many cores as ranks.
struct Crowd {
  int ranks = 0, cores = 1;
  bool crowded() const { return ranks > cores; }
};
// The machine with the most ranks a core, of the shares of all ranks.
Crowd densest(const std::vector<std::string>& shares);

// The launcher's variables about threads and local ranks: (name, value) of OMP_NUM_THREADS,
// LOCAL_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS and SLURM_TASKS_PER_NODE, if they
// are set.
std::vector<std::pair<std::string, std::string>> launch_hints();

}  // namespace weft

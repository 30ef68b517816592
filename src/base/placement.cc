#include "base/placement.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/small_file.h"

namespace weft {
namespace {

// The leading number of a variable; -1: it is not set or begins with none.
int leading_number(const char* name) {
  const char* const text = std::getenv(name);
  if (!text) return -1;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return end == text || number < 0 || number > 1 << 20 ? -1 : static_cast<int>(number);
}

// (rank on this host, ranks on this host), as the launchers call them.
constexpr std::pair<const char*, const char*> kLocal[] = {
    {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_LOCALID", "SLURM_TASKS_PER_NODE"},  // "4(x2),3": of the first nodes, mostly of all
};

std::vector<int> own_part(const CpuLimits& limits, Share share) {
  const auto& all = limits.processors;
  const auto ranks = static_cast<std::size_t>(std::max(1, share.ranks));
  const auto rank = static_cast<std::size_t>(share.rank);
  const auto cut = [&](std::size_t at) {
    return all.begin() + static_cast<std::ptrdiff_t>(all.size() * at / ranks);
  };
  std::vector<int> own(cut(rank), cut(rank + 1));
  if (limits.quota > 0) {
    const double granted = std::ceil(limits.quota / static_cast<double>(ranks));
    own.resize(std::min(own.size(), static_cast<std::size_t>(granted)));
  }
  return own;
}

// The processors of one core, this one among them.
std::vector<int> siblings(int processor, const CpuProbe& probe) {
  return read_ranges(line_of(probe.root + "/sys/devices/system/cpu/cpu" +
                             std::to_string(processor) + "/topology/thread_siblings_list"))
      .value_or(std::vector<int>());
}

bool shares_a_core(int processor, const std::vector<int>& with, const CpuProbe& probe) {
  return std::ranges::any_of(siblings(processor, probe), [&](int sibling) {
    return std::ranges::find(with, sibling) != with.end();
  });
}

int bind_this_thread(const std::vector<int>& cores) {
  const int size = std::max(CPU_SETSIZE, *std::ranges::max_element(cores) + 1);
  cpu_set_t* const set = CPU_ALLOC(size);
  if (!set) return ENOMEM;
  const std::size_t bytes = CPU_ALLOC_SIZE(size);
  CPU_ZERO_S(bytes, set);
  for (const int core : cores) CPU_SET_S(core, bytes, set);
  const int code = sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  return code;
}

}  // namespace

Share launched_share() {
  for (const auto& [rank_name, ranks_name] : kLocal) {
    const int rank = leading_number(rank_name), ranks = leading_number(ranks_name);
    if (0 <= rank && rank < ranks) return {rank, ranks};
  }
  return {};
}

Share share_of(const std::vector<std::string>& shares, int rank) {
  const auto own = shares.begin() + rank;
  return {static_cast<int>(std::count(shares.begin(), own, *own)),
          static_cast<int>(std::count(shares.begin(), shares.end(), *own))};
}

int openmp_threads() { return std::max(0, leading_number("OMP_NUM_THREADS")); }

Split split_processors(const CpuLimits& limits, Share share, int threads, const CpuProbe& probe) {
  const std::vector<int> own = own_part(limits, share);
  const std::size_t computing =
      threads == 0 ? own.size() : std::min(own.size(), static_cast<std::size_t>(threads));
  Split split;
  split.compute.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(computing));
  for (std::size_t i = computing; i < own.size(); ++i)
    if (!shares_a_core(own[i], split.compute, probe)) split.left.push_back(own[i]);
  return split;
}

int place_this_thread(const char* name, const std::vector<int>& cores, std::optional<int> nice) {
  pthread_setname_np(pthread_self(), name);
  if (const int code = cores.empty() ? 0 : bind_this_thread(cores)) return code;
  if (!nice) return 0;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  return setpriority(PRIO_PROCESS, thread, *nice) == 0 ? 0 : errno;
}

}  // namespace weft

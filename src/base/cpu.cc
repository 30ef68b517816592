#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "base/host.h"
#include "base/small_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Processors in the mask of the calling thread. The kernel refuses a set that is smaller
// than its own, which may be larger than cpu_set_t.
std::vector<int> processors_in_mask() {
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    const bool read = set && sched_getaffinity(0, bytes, set) == 0;
    std::vector<int> processors;
    for (int i = 0; read && i < size; ++i)
      if (CPU_ISSET_S(i, bytes, set)) processors.push_back(i);
    const bool too_small = set && !read && errno == EINVAL;
    CPU_FREE(set);
    if (read || !too_small) return processors;
  }
  return {};
}

bool has_word(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string next; std::getline(words, next, ',');) {
    if (next == word) return true;
  }
  return false;
}

// A place where a cgroup tree is mounted.
struct Mount {
  std::string shown;  // the group that is seen at the mount point
  std::string point;
  bool unified;  // version 2
};

// The trees that can hold a quota. A line of mountinfo (proc(5)):
//   36 35 98:0 /shown /mount/point rw,noatime [optional ...] - type source rw,cpu
std::vector<Mount> cpu_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : lines_of(root + "/proc/self/mountinfo")) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string skipped, type, source, options;
    Mount mount;
    before >> skipped >> skipped >> skipped >> mount.shown >> mount.point;
    after >> type >> source >> options;
    mount.unified = type == "cgroup2";
    if (mount.unified || (type == "cgroup" && has_word(options, "cpu"))) mounts.push_back(mount);
  }
  return mounts;
}

// The group of this process in version 2's tree or in that of version 1's cpu controller.
// A line of /proc/self/cgroup: "0::/group" or "4:cpu,cpuacct:/group".
std::string group_in(const std::string& root, bool unified) {
  for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = unified ? line.substr(0, first) == "0" && controllers.empty()
                                 : has_word(controllers, "cpu");
    if (matches) return line.substr(second + 1);
  }
  return "/";
}

// The group's folder relative to the mount point. Empty where the group is outside of what
// the mount shows, as in a container without a cgroup namespace: what is shown is ours.
fs::path below_mount(const Mount& mount, const std::string& group) {
  const fs::path relative = fs::path(group).lexically_relative(mount.shown);
  const bool inside = !relative.empty() && *relative.begin() != "..";
  return inside && relative != "." ? relative : fs::path();
}

// Processors' worth of time granted by the group in `folder` alone, and the file that says so.
std::pair<double, fs::path> quota_of(const fs::path& folder, bool unified) {
  const fs::path file = folder / (unified ? "cpu.max" : "cpu.cfs_quota_us");
  std::string text = line_of(file);
  if (!unified) text += " " + line_of(folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  std::istringstream(text) >> quota >> period;  // "max" and -1 say that there is no limit
  return {quota > 0 && period > 0 ? quota / period : 0, file};
}

void tighten(CpuLimits& limits, const std::string& root, const Mount& mount) {
  const fs::path top = root + mount.point;
  fs::path relative = below_mount(mount, group_in(root, mount.unified));
  while (true) {
    const auto [quota, file] = quota_of(top / relative, mount.unified);
    if (quota > 0 && (limits.quota == 0 || quota < limits.quota)) {
      limits.quota = quota;
      limits.quota_file = file.string();
    }
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

}  // namespace

int CpuLimits::usable() const {
  if (quota <= 0 || quota >= affinity) return std::max(1, affinity);
  return std::max(1, static_cast<int>(std::ceil(quota)));
}

CpuLimits cpu_limits(const CpuProbe& probe) {
  CpuLimits limits;
  limits.processors = processors_in_mask();
  limits.affinity =
      probe.affinity ? *probe.affinity : std::max(1, static_cast<int>(limits.processors.size()));
  for (const Mount& mount : cpu_mounts(probe.root)) tighten(limits, probe.root, mount);
  return limits;
}

int usable_cores() { return cpu_limits().usable(); }

std::string cpu_share(const CpuProbe& probe) {
  const CpuLimits limits = cpu_limits(probe);
  const std::string kernel = host_identity().boot;
  return (kernel.empty() ? "?" : kernel) + " " + std::to_string(limits.quota) + " " +
         ranges_of(limits.processors);
}

std::string ranges_of(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

namespace {

constexpr int kMostProcessors = 1 << 16;  // what a rank says may be damaged

// A whole number below kMostProcessors that `text` begins with, which is then cut off.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number >= kMostProcessors) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::optional<std::vector<int>> read_ranges(const std::string& text) {
  std::set<int> numbers;
  std::string_view rest = text;
  do {
    if (!numbers.empty()) rest.remove_prefix(1);  // the comma
    const auto first = take_number(rest);
    auto last = first;
    if (first && rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
    }
    if (!first || !last || *last < *first) return std::nullopt;
    for (int number = *first; number <= *last; ++number) numbers.insert(number);
  } while (rest.starts_with(','));
  if (!rest.empty()) return std::nullopt;
  return std::vector<int>(numbers.begin(), numbers.end());
}

namespace {

struct Shared {
  int ranks = 0;
  CpuLimits limits;
  std::set<int> processors;

  void add(std::istringstream& share) {
    double quota = 0;
    share >> quota;
    if (quota > 0 && (limits.quota == 0 || quota < limits.quota)) limits.quota = quota;
    for (int first; share >> first; share.ignore()) {
      int last = first;
      if (share.peek() == '-') share.ignore() >> last;
      last = std::min(last, kMostProcessors - 1);
      for (int processor = std::max(first, 0); processor <= last; ++processor)
        processors.insert(processor);
    }
    limits.affinity = std::max(1, static_cast<int>(processors.size()));
    ++ranks;
  }
};

}  // namespace

Crowd densest(const std::vector<std::string>& shares) {
  std::map<std::string, Shared> machines;  // by the boot id of their kernel
  for (const std::string& share : shares) {
    std::istringstream words(share);
    std::string kernel;
    words >> kernel;
    machines[kernel].add(words);
  }
  Crowd densest;
  for (const auto& [kernel, shared] : machines) {
    const Crowd here{shared.ranks, shared.limits.usable()};
    if (here.ranks * densest.cores > densest.ranks * here.cores) densest = here;
  }
  return densest;
}

std::vector<std::pair<std::string, std::string>> launch_hints() {
  std::vector<std::pair<std::string, std::string>> hints;
  for (const char* name : {"OMP_NUM_THREADS", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                           "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE"}) {
    if (const char* value = std::getenv(name)) hints.emplace_back(name, value);
  }
  return hints;
}

}  // namespace weft

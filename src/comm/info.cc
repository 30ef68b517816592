#include "weft/info.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cpu.h"
#include "base/version.h"
#include "kernels/kernels.h"

namespace weft {

namespace {

namespace fs = std::filesystem;

const fs::path kNodes = "/sys/devices/system/node";
const fs::path kCaches = "/sys/devices/system/cpu/cpu0/cache";
const fs::path kTransparent = "/sys/kernel/mm/transparent_hugepage";

// The first line; empty where there is no such file.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value after "key   :" in a file of such lines.
std::string value_of(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.rfind(key, 0) != 0 || colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

// "32 kB" and "32K" in bytes.
std::size_t bytes_of(const std::string& text) {
  char* unit = nullptr;
  const std::size_t number = std::strtoull(text.c_str(), &unit, 10);
  while (*unit == ' ') ++unit;
  switch (*unit) {
    case 'k':
    case 'K':
      return number << 10;
    case 'm':
    case 'M':
      return number << 20;
    default:
      return number;
  }
}

// The word in brackets: "always [madvise] never".
std::string chosen_of(const std::string& text) {
  const auto open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos
             ? ""
             : text.substr(open + 1, close - open - 1);
}

std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  for (int i = 0; fs::exists(folder / (prefix + std::to_string(i))); ++i)
    found.push_back(folder / (prefix + std::to_string(i)));
  return found;
}

std::vector<CacheInfo> caches() {
  std::vector<CacheInfo> found;
  for (const fs::path& path : entries(kCaches, "index"))
    found.push_back({std::atoi(line_of(path / "level").c_str()), line_of(path / "type"),
                     bytes_of(line_of(path / "size")), line_of(path / "shared_cpu_list")});
  return found;
}

std::vector<NumaInfo> numa_nodes() {
  std::vector<NumaInfo> found;
  for (const fs::path& path : entries(kNodes, "node")) {
    const int node = static_cast<int>(found.size());
    const std::string total = "Node " + std::to_string(node) + " MemTotal";
    found.push_back({node, line_of(path / "cpulist"), bytes_of(value_of(path / "meminfo", total))});
  }
  return found;
}

std::vector<FabricInfo> fabrics() {
  const std::string later = "not built, because this version moves bytes within one machine only";
  return {{"shm", true, "shared memory between the processes of one machine"},
          {"ofi", false, later},
          {"mpi", false, later},
          {"shmem", false, later}};
}

}  // namespace

SystemInfo system_info() {
  const CpuLimits limits = cpu_limits();
  SystemInfo info;
  info.version = kVersion;
  info.instruction_set = kernels::instruction_set();
  info.fabrics = fabrics();
  info.processor = value_of("/proc/cpuinfo", "model name");
  info.online_processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  info.affinity_processors = limits.affinity;
  info.quota_processors = limits.quota;
  info.usable_cores = usable_cores();
  info.caches = caches();
  info.numa_nodes = numa_nodes();
  info.huge_page_bytes = bytes_of(value_of("/proc/meminfo", "Hugepagesize"));
  info.huge_pages_reserved = bytes_of(value_of("/proc/meminfo", "HugePages_Total"));
  info.transparent_huge_pages = chosen_of(line_of(kTransparent / "enabled"));
  info.shared_transparent_huge_pages = chosen_of(line_of(kTransparent / "shmem_enabled"));
  return info;
}

}  // namespace weft

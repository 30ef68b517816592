#include "base/machine.h"

#include <algorithm>
#include <filesystem>

#include "base/small_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Arm's kernel names no model, only who designed the core and its number.
std::string processor_model(const fs::path& cpuinfo) {
  const std::string model = value_of(cpuinfo, "model name");
  if (!model.empty()) return model;
  const std::string implementer = value_of(cpuinfo, "CPU implementer");
  const std::string part = value_of(cpuinfo, "CPU part");
  return implementer.empty() ? "" : "implementer " + implementer + " part " + part;
}

// The numbers n of the entries prefix + n in a folder, in order. There may be gaps.
std::vector<int> numbered(const fs::path& folder, const std::string& prefix) {
  std::vector<int> numbers;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename();
    const std::string digits = name.substr(std::min(name.size(), prefix.size()));
    if (name.compare(0, prefix.size(), prefix) != 0 || digits.empty()) continue;
    if (digits.find_first_not_of("0123456789") != std::string::npos) continue;
    numbers.push_back(std::stoi(digits));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<CacheInfo> read_caches(const fs::path& folder) {
  std::vector<CacheInfo> caches;
  for (int index : numbered(folder, "index")) {
    const fs::path cache = folder / ("index" + std::to_string(index));
    caches.push_back({std::atoi(line_of(cache / "level").c_str()), line_of(cache / "type"),
                      bytes_of(line_of(cache / "size")), line_of(cache / "shared_cpu_list")});
  }
  return caches;
}

std::vector<NumaInfo> read_nodes(const fs::path& folder) {
  std::vector<NumaInfo> nodes;
  for (int node : numbered(folder, "node")) {
    const fs::path path = folder / ("node" + std::to_string(node));
    const std::string total = "Node " + std::to_string(node) + " MemTotal";
    nodes.push_back({node, line_of(path / "cpulist"), bytes_of(value_of(path / "meminfo", total))});
  }
  return nodes;
}

// The word in brackets: "always [madvise] never".
std::string chosen_in(const std::string& text) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) return "";
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

Machine read_machine(const std::string& root) {
  const fs::path meminfo = root + "/proc/meminfo";
  const fs::path transparent = root + "/sys/kernel/mm/transparent_hugepage";
  Machine machine;
  machine.processor = processor_model(root + "/proc/cpuinfo");
  machine.caches = read_caches(root + "/sys/devices/system/cpu/cpu0/cache");
  machine.numa_nodes = read_nodes(root + "/sys/devices/system/node");
  machine.huge_page_bytes = bytes_of(value_of(meminfo, "Hugepagesize"));
  machine.huge_pages_reserved = bytes_of(value_of(meminfo, "HugePages_Total"));
  machine.transparent_huge_pages = chosen_in(line_of(transparent / "enabled"));
  machine.shared_transparent_huge_pages = chosen_in(line_of(transparent / "shmem_enabled"));
  return machine;
}

std::size_t data_cache_bytes(const Machine& machine, int level) {
  for (const CacheInfo& cache : machine.caches) {
    if (cache.level == level && cache.type != "Instruction") return cache.bytes;
  }
  return 0;
}

}  // namespace weft

#include "base/processor.h"

#include <filesystem>

#include "base/small_file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft {
namespace {

namespace fs = std::filesystem;

void read_caches(const fs::path& folder, Processor& here) {
  std::error_code gone;
  for (const auto& cache : fs::directory_iterator(folder, gone)) {
    const std::string type = line_of(cache.path() / "type"),
                      level = line_of(cache.path() / "level");
    const std::size_t bytes = bytes_of(line_of(cache.path() / "size"));
    if (type == "Instruction") continue;
    if (level == "1") here.l1 = bytes;
    if (level == "2") here.l2 = bytes;
    if (level != "3") continue;
    here.l3 = bytes;
    const auto sharers = read_ranges(line_of(cache.path() / "shared_cpu_list"));
    here.l3_sharers = sharers ? static_cast<int>(sharers->size()) : 0;
  }
}

void read_cpuid([[maybe_unused]] Processor& here) {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return;
  const unsigned name[] = {b, d, c};
  here.vendor.assign(reinterpret_cast<const char*>(name), sizeof name);
  __get_cpuid(1, &a, &b, &c, &d);
  const unsigned family = a >> 8 & 15, model = a >> 4 & 15;
  here.family = static_cast<int>(family == 15 ? family + (a >> 20 & 255) : family);
  here.model = static_cast<int>(family == 15 || family == 6 ? model | (a >> 12 & 0xf0) : model);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    here.fast_strings = b >> 9 & 1;
    here.fast_short_strings = d >> 4 & 1;
  }
#endif
}

std::string kib(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

}  // namespace

Processor this_processor(const CpuProbe& probe) {
  Processor here;
  read_cpuid(here);
  const std::vector<int> allowed = cpu_limits(probe).processors;
  const std::string first = std::to_string(allowed.empty() ? 0 : allowed.front());
  read_caches(probe.root + "/sys/devices/system/cpu/cpu" + first + "/cache", here);
  return here;
}

std::string Processor::text() const {
  return (vendor.empty() ? "unknown" : vendor) + " " + std::to_string(family) + "/" +
         std::to_string(model) + ", L1 " + kib(l1) + ", L2 " + kib(l2) + ", L3 " + kib(l3) +
         " for " + std::to_string(l3_sharers);
}

}  // namespace weft

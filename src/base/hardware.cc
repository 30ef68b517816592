#include "base/hardware.h"

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

// The word in brackets: "always [madvise] never".
std::string chosen_in(const std::string& text) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) return "";
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

Hardware read_hardware(const std::string& root) {
  const fs::path meminfo = root + "/proc/meminfo";
  const fs::path transparent = root + "/sys/kernel/mm/transparent_hugepage";
  Hardware hardware;
  hardware.processor = processor_model(root + "/proc/cpuinfo");
  hardware.huge_page_bytes = bytes_of(value_of(meminfo, "Hugepagesize"));
  hardware.huge_pages_reserved = bytes_of(value_of(meminfo, "HugePages_Total"));
  hardware.transparent_huge_pages = chosen_in(line_of(transparent / "enabled"));
  hardware.shared_transparent_huge_pages = chosen_in(line_of(transparent / "shmem_enabled"));
  return hardware;
}

}  // namespace weft

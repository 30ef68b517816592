#include "weft/info.h"

#include <unistd.h>

#include <utility>

#include "base/cpu.h"
#include "base/machine.h"
#include "base/version.h"
#include "comm/fabrics.h"
#include "kernels/kernels.h"

namespace weft {

namespace {

std::vector<FabricInfo> fabrics() {
  const std::string later = "not built, because this version has no such fabric yet";
  return {{"shm", true, "shared memory between the processes of one machine"},
          ofi_info(),
          {"mpi", false, later},
          {"shmem", false, later}};
}

}  // namespace

SystemInfo system_info() {
  const CpuLimits limits = cpu_limits();
  Machine machine = read_machine();
  SystemInfo info;
  info.version = kVersion;
  info.instruction_set = kernels::instruction_set();
  info.fabrics = fabrics();
  info.processor = std::move(machine.processor);
  info.online_processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  info.affinity_processors = limits.affinity;
  info.quota_processors = limits.quota;
  info.quota_file = limits.quota_file;
  info.usable_cores = limits.usable();
  info.launch_hints = launch_hints();
  info.caches = std::move(machine.caches);
  info.numa_nodes = std::move(machine.numa_nodes);
  info.huge_page_bytes = machine.huge_page_bytes;
  info.huge_pages_reserved = machine.huge_pages_reserved;
  info.transparent_huge_pages = std::move(machine.transparent_huge_pages);
  info.shared_transparent_huge_pages = std::move(machine.shared_transparent_huge_pages);
  return info;
}

}  // namespace weft

#include "weft/info.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/environment.h"
#include "base/hardware.h"
#include "base/layout.h"
#include "base/machine_model.h"
#include "base/version.h"
#include "comm/fabrics.h"
#include "comm/workers.h"
#include "kernels/kernels.h"
#include "weft/error.h"

namespace weft {

namespace {

std::vector<FabricInfo> fabrics() {
  // First: MPICH brings a libfabric along, and cannot load once the system's older one is there.
  FabricInfo mpi = mpi_info();
  return {{"shm", true, "shared memory between the processes of one machine"},
          ofi_info(),
          std::move(mpi),
          shmem_info()};
}

std::vector<DomainInfo> described(const std::vector<Domain>& domains) {
  std::vector<DomainInfo> rows;
  for (const Domain& domain : domains)
    rows.push_back({domain.number, domain.cores, ranges_of(domain.processors), domain.bytes});
  return rows;
}

std::vector<CacheInfo> described(const std::vector<Cache>& caches) {
  std::vector<CacheInfo> rows;
  for (const Cache& cache : caches) {
    const auto alike = [&](const CacheInfo& row) {
      return row.level == cache.level && row.type == cache.type && row.bytes == cache.bytes;
    };
    auto row = std::find_if(rows.begin(), rows.end(), alike);
    if (row == rows.end()) row = rows.insert(row, {cache.level, cache.type, cache.bytes, {}});
    row->shared_by.push_back(ranges_of(cache.processors));
  }
  return rows;
}

void describe(const Layout& layout, SystemInfo& info) {
  info.layout_missing = layout.missing;
  info.sockets = described(layout.sockets);
  info.numa_nodes = described(layout.numa_nodes);
  info.caches = described(layout.caches);
}

WorkerInfo described_worker(const CpuLimits& limits) {
  WorkerInfo info;
  try {
    const WorkerPlan plan = plan_worker(read_workers({}, limits), limits, launched_share());
    info.exists = plan.worker.exists;
    info.mask = ranges_of(limits.processors);
    info.compute = ranges_of(plan.compute);
    info.cores = ranges_of(plan.worker.cores);
    if (plan.worker.nice) info.nice = std::to_string(*plan.worker.nice);
    info.why = plan.why;
  } catch (const Error& error) {
    info.obstacle = error.what();
  }
  return info;
}

ModelInfo described_model() {
  ModelInfo info;
  info.processor = this_processor().text();
  info.known = model_names();
  try {
    const MachineModel& model = machine_model();
    info.name = model.name;
    info.left_out = model.left_out;
    Reuse reuse = model.reuse;
    reuse.lend_to = std::min(reuse.lend_to, kLentBytes);  // for longer messages there is no slot
    for (const auto& field : reuse_fields())
      info.numbers.emplace_back(field.name, reuse.*field.value);
    for (const auto& field : length_fields())
      info.numbers.emplace_back(field.name, model.lengths.*field.value);
  } catch (const Error& error) {
    info.obstacle = error.what();
  }
  return info;
}

}  // namespace

SystemInfo system_info() {
  const CpuLimits limits = cpu_limits();
  Hardware hardware = read_hardware();
  SystemInfo info;
  info.version = kVersion;
  info.instruction_set = kernels::instruction_set();
  info.fabrics = fabrics();
  info.processor = std::move(hardware.processor);
  info.online_processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  info.affinity_processors = limits.affinity;
  info.quota_processors = limits.quota;
  info.quota_file = limits.quota_file;
  info.usable_cores = limits.usable();
  info.launch_hints = launch_hints();
  info.worker = described_worker(limits);
  info.model = described_model();
  describe(read_layout(), info);
  info.huge_page_bytes = hardware.huge_page_bytes;
  info.huge_pages_reserved = hardware.huge_pages_reserved;
  info.transparent_huge_pages = std::move(hardware.transparent_huge_pages);
  info.shared_transparent_huge_pages = std::move(hardware.shared_transparent_huge_pages);
  return info;
}

std::vector<VariableInfo> environment_variables() {
  const Environment environment = Environment::read();
  std::vector<VariableInfo> rows;
  for (const Variable& variable : variables()) {
    const std::string& value = environment.*variable.value;
    const bool hidden = variable.value == &Environment::secret && !value.empty();
    rows.push_back({variable.name, hidden ? "(set)" : value, variable.kind, variable.fallback,
                    variable.meaning, variable.scope});
  }
  return rows;
}

std::vector<std::string> unknown_environment_variables() { return unknown_variables(); }

}  // namespace weft

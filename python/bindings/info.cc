// weft/info.h as dictionaries, for `weft info`.
#include "weft/info.h"

#include "bindings.h"

namespace {

nb::list fabrics(const weft::SystemInfo& info) {
  nb::list rows;
  for (const weft::FabricInfo& fabric : info.fabrics) {
    nb::dict row;
    row["name"] = fabric.name.c_str();
    row["available"] = fabric.available;
    row["text"] = fabric.text.c_str();
    rows.append(row);
  }
  return rows;
}

nb::list caches(const weft::SystemInfo& info) {
  nb::list rows;
  for (const weft::CacheInfo& cache : info.caches) {
    nb::dict row;
    row["level"] = cache.level;
    row["type"] = cache.type.c_str();
    row["bytes"] = cache.bytes;
    nb::list shared_by;
    for (const std::string& processors : cache.shared_by) shared_by.append(processors.c_str());
    row["shared_by"] = shared_by;
    rows.append(row);
  }
  return rows;
}

nb::list domains(const std::vector<weft::DomainInfo>& infos) {
  nb::list rows;
  for (const weft::DomainInfo& domain : infos) {
    nb::dict row;
    row["number"] = domain.number;
    row["cores"] = domain.cores;
    row["processors"] = domain.processors.c_str();
    row["bytes"] = domain.bytes;
    rows.append(row);
  }
  return rows;
}

// Like a fabric: whether it is known, and by what or why not.
nb::dict layout(const weft::SystemInfo& info) {
  nb::dict row;
  row["available"] = info.layout_missing.empty();
  row["text"] = info.layout_missing.empty() ? "by hwloc" : info.layout_missing.c_str();
  return row;
}

nb::dict hints(const weft::SystemInfo& info) {
  nb::dict all;
  for (const auto& [name, value] : info.launch_hints) all[name.c_str()] = value.c_str();
  return all;
}

nb::dict worker(const weft::WorkerInfo& info) {
  nb::dict row;
  row["obstacle"] = info.obstacle.c_str();
  row["exists"] = info.exists;
  row["mask"] = info.mask.c_str();
  row["compute"] = info.compute.c_str();
  row["cores"] = info.cores.c_str();
  row["nice"] = info.nice.c_str();
  row["why"] = info.why.c_str();
  return row;
}

nb::dict model(const weft::ModelInfo& info) {
  nb::dict row;
  if (!info.obstacle.empty()) row["obstacle"] = info.obstacle.c_str();
  row["processor"] = info.processor.c_str();
  row["name"] = info.name.c_str();
  row["known"] = info.known.c_str();
  row["left_out"] = info.left_out.c_str();
  for (const auto& [name, bytes] : info.numbers) row[name.c_str()] = bytes;
  return row;
}

nb::dict system_info() {
  const weft::SystemInfo info = weft::system_info();
  nb::dict all;
  all["version"] = info.version.c_str();
  all["instruction_set"] = info.instruction_set.c_str();
  all["fabrics"] = fabrics(info);
  all["processor"] = info.processor.c_str();
  all["online_processors"] = info.online_processors;
  all["affinity_processors"] = info.affinity_processors;
  all["quota_processors"] = info.quota_processors;
  all["quota_file"] = info.quota_file.c_str();
  all["usable_cores"] = info.usable_cores;
  all["launch_hints"] = hints(info);
  all["worker"] = worker(info.worker);
  all["model"] = model(info.model);
  all["caches"] = caches(info);
  all["layout"] = layout(info);
  all["sockets"] = domains(info.sockets);
  all["numa_nodes"] = domains(info.numa_nodes);
  all["huge_page_bytes"] = info.huge_page_bytes;
  all["huge_pages_reserved"] = info.huge_pages_reserved;
  all["transparent_huge_pages"] = info.transparent_huge_pages.c_str();
  all["shared_transparent_huge_pages"] = info.shared_transparent_huge_pages.c_str();
  return all;
}

// The environment's bytes as Python has them in os.environ.
nb::object text(const std::string& bytes) {
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(bytes.data(), size));
}

nb::list environment_variables() {
  nb::list rows;
  for (const weft::VariableInfo& variable : weft::environment_variables()) {
    nb::dict row;
    row["name"] = variable.name.c_str();
    row["value"] = text(variable.value);
    row["kind"] = variable.kind.c_str();
    row["default"] = variable.fallback.c_str();
    row["meaning"] = variable.meaning.c_str();
    row["scope"] = variable.scope.c_str();
    rows.append(row);
  }
  return rows;
}

nb::list unknown_environment_variables() {
  nb::list sentences;
  for (const std::string& sentence : weft::unknown_environment_variables())
    sentences.append(text(sentence));
  return sentences;
}

}  // namespace

void bind_info(nb::module_& m) {
  m.def("system_info", &system_info);
  m.def("environment_variables", &environment_variables);
  m.def("unknown_environment_variables", &unknown_environment_variables);
}

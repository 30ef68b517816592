// The module weft._torch.
#include <torch/extension.h>

#include <pybind11/chrono.h>

#include "process_group.h"

namespace py = pybind11;

namespace {

using weft::torch_adapter::ProcessGroupWeft;

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size, std::chrono::milliseconds timeout,
                                         std::string group_name,
                                         std::vector<std::uint64_t> global_ranks) {
  auto options = c10::make_intrusive<c10d::Backend::Options>("weft", timeout);
  options->group_name = std::move(group_name);
  options->global_ranks_in_group = std::move(global_ranks);
  return c10::make_intrusive<ProcessGroupWeft>(store, rank, size, std::move(options));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "Weft's backend for torch.distributed. weft.torch registers it.";
  // Its base class is torch's: so torch.distributed is imported before this module.
  py::class_<ProcessGroupWeft, c10::intrusive_ptr<ProcessGroupWeft>, c10d::Backend>(
      m, "ProcessGroupWeft");
  m.def("create", &create, py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"),
        py::arg("group_name"), py::arg("global_ranks"), py::call_guard<py::gil_scoped_release>());
}

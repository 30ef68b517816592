// The module weft._torch.
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/extension.h>

#include <pybind11/chrono.h>

#include "ending.h"
#include "future.h"
#include "process_group.h"

namespace py = pybind11;

namespace {

using weft::torch_adapter::ProcessGroupWeft;
using weft::torch_adapter::WorkWeft;

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size, std::chrono::milliseconds timeout,
                                         std::string group_name,
                                         std::vector<std::uint64_t> global_ranks) {
  auto options = c10::make_intrusive<c10d::Backend::Options>("weft", timeout);
  options->group_name = std::move(group_name);
  options->global_ranks_in_group = std::move(global_ranks);
  return c10::make_intrusive<ProcessGroupWeft>(store, rank, size, std::move(options));
}

// Like that of torch's own Work, except for the order of callbacks: see strands.h.
py::object future_of(WorkWeft& work) {
  auto future = work.getFuture();
  if (work.in_order())
    return weft::torch_adapter::make_future(std::move(future), work.group().name);
  return py::cast(std::make_shared<torch::jit::PythonFutureWrapper>(std::move(future)));
}

// pybind11 asks the last translator first, so torch's sees what this one lets pass.
void translate_bad_arguments() {
  // Never let go: what is thrown while the interpreter ends needs it still.
  static const py::handle type =
      py::object(py::module_::import("weft.errors").attr("InvalidArgument")).release();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const weft::torch_adapter::BadArgument& error) {
      py::set_error(type, error.what_without_backtrace());
    }
  });
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  translate_bad_arguments();
  m.doc() = "Weft's backend for torch.distributed. weft.torch registers it.";
  // Its base class is torch's: so torch.distributed is imported before this module.
  py::class_<ProcessGroupWeft, c10::intrusive_ptr<ProcessGroupWeft>, c10d::Backend>(
      m, "ProcessGroupWeft")
      .def("_start_time_estimate", &ProcessGroupWeft::start_time_estimate,
           py::call_guard<py::gil_scoped_release>())
      .def("_end_time_estimate", &ProcessGroupWeft::end_time_estimate)
      .def("get_error", &ProcessGroupWeft::getError);
  weft::torch_adapter::bind_future(m);
  py::class_<WorkWeft, c10::intrusive_ptr<WorkWeft>, c10d::Work>(m, "Work").def("get_future",
                                                                                &future_of);
  py::module_::import("atexit").attr("register")(py::cpp_function(
      &weft::torch_adapter::end_of_program, py::call_guard<py::gil_scoped_release>()));
  m.def("create", &create, py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"),
        py::arg("group_name"), py::arg("global_ranks"), py::call_guard<py::gil_scoped_release>());
}

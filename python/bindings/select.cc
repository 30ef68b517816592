// weft/select.h, and algorithms as users write them.
#include "weft/select.h"
#include "weft/collective.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "param.h"

namespace {

using namespace weft;

// The call of which `nbytes` are the whole message.
Call call_of(const std::string& collective, int ranks, std::size_t nbytes, const std::string& dtype,
             const std::string& op, bool symmetric, const std::string& algorithm) {
  Call call{parse_collective(collective)};
  const bool blocks = traits_of(call.collective).by_rank();
  call.dtype = parse_dtype(dtype);
  call.op = parse_reduce_op(op);
  call.count = nbytes / size_of(call.dtype) / static_cast<std::size_t>(blocks ? ranks : 1);
  call.symmetric = symmetric;
  call.algorithm = algorithm;
  return call;
}

}  // namespace

void bind_select(nb::module_& m) {
  nb::class_<Choice>(m, "Choice", "An algorithm with parameters and the bytes of a chunk.")
      .def_ro("algorithm", &Choice::algorithm)
      .def_ro("params", &Choice::params)
      .def_ro("chunk", &Choice::chunk)
      .def("__str__", [](const Choice& self) { return to_text(self); });
  nb::class_<Selection>(m, "Selection", "What is chosen for a call, and by which rule.")
      .def_ro("choice", &Selection::choice)
      .def_prop_ro("rule", [](const Selection& self) { return std::string(name_of(self.rule)); })
      .def_ro("row", &Selection::row);
  m.def("parse_choice", [](const std::string& text) { return parse_choice(text); });
  m.def(
      "select",
      [](const std::string& collective, int ranks, std::size_t nbytes, const std::string& dtype,
         const std::string& op, bool symmetric, const std::string& algorithm, int nodes,
         bool reproducible, const std::string& tuning, const std::string& wire, bool crowded) {
        return select(call_of(collective, ranks, nbytes, dtype, op, symmetric, algorithm), ranks,
                      {nodes, reproducible, tuning, wire, crowded});
      },
      nb::arg("collective"), nb::arg("ranks"), nb::arg("nbytes"), nb::arg("dtype") = "float32",
      nb::arg("op") = "sum", nb::arg("symmetric") = false, nb::arg("algorithm") = "",
      nb::arg("nodes") = 1, nb::arg("reproducible") = false, nb::arg("tuning") = "",
      nb::arg("wire") = "", nb::arg("crowded") = false, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "tuning_file", [](const std::string& tuning) { return tuning_file_for({.tuning = tuning}); },
      nb::arg("tuning") = "");
  m.def("needs_equal_counts", &needs_equal_counts, nb::arg("algorithm"), nb::arg("ranks"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("reaches_into_peers", &reaches_into_peers, nb::arg("algorithm"), nb::arg("ranks"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def("check_tuning", &check_tuning, nb::arg("file"), nb::call_guard<nb::gil_scoped_release>());
}

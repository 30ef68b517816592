// weft/measure.h.
#include "weft/measure.h"

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "call.h"

void bind_measure(nb::module_& m) {
  m.def(
      "measure",
      [](nb::handle communicator, std::size_t largest, int times) {
        auto comm = communicator_of(communicator);
        nb::gil_scoped_release release;
        return weft::measure(*comm, {largest, times});
      },
      nb::arg("communicator"), nb::arg("largest"), nb::arg("times"));
  m.def(
      "seconds_of",
      [](nb::handle communicator, const std::string& collective, nb::object input,
         nb::object output, std::size_t count, const std::string& algorithm, int times) {
        auto comm = communicator_of(communicator);
        CallArguments arguments;
        arguments.collective = collective;
        arguments.input = std::move(input);
        arguments.output = std::move(output);
        arguments.count = count;
        arguments.algorithm = algorithm;
        BoundCall bound = bind_call(arguments, comm->rank(), comm->size());
        nb::gil_scoped_release release;
        return weft::seconds_of(*comm, bound.attach(), times);
      },
      nb::arg("communicator"), nb::arg("collective"), nb::arg("input").none(),
      nb::arg("output").none(), nb::arg("count"), nb::arg("algorithm"), nb::arg("times"));
}

// The module weft._simgrid: src/simulate, in child processes. Built where SimGrid is.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "../bindings/param.h"
#include "child.h"
#include "module.h"
#include "select/cut.h"
#include "weft/registry.h"

namespace nb = nanobind;

weft::simulate::Model weft::simulate::model_of(const std::string& name) {
  if (name == "smpi") return Model::kSmpi;
  if (name == "plain") return Model::kPlain;
  throw InvalidArgument("model \"" + name + "\": there are \"smpi\" and \"plain\"");
}

namespace {

using namespace weft;
using Started = std::pair<int, int>;  // process, reader

// The call as bound from Python.
struct Asked {
  std::size_t nbytes, chunk;
  const std::string &dtype, &model;
  bool symmetric, in_place, energy;
};

std::pair<Started, std::size_t> start(const cost::Programs& programs, const Topology& topology,
                                      const Asked& asked) {
  const DType dtype = parse_dtype(asked.dtype);
  const cost::Call call =
      call_of(programs, asked.nbytes, {asked.chunk, dtype, asked.symmetric, asked.in_place});
  simulate::Options options;
  options.model = simulate::model_of(asked.model);
  options.energy = asked.energy;
  const simulate::Child child = simulate::start(programs, call, topology, options);
  return {{child.process, child.reader}, call.cut.chunk * size_of(dtype)};
}

}  // namespace

NB_MODULE(_simgrid, m) {
  nb::module_::import_("weft._core");  // binds plans and topologies, and translates errors
  m.doc() = "Simulation with SimGrid. Use weft.simulate, which documents and checks.";
  simulate::bind_training_step(m);
  m.def(
      "start_algorithm",
      [](const std::string& algorithm, const Topology& topology, int ranks, std::size_t nbytes,
         const Params& params, std::size_t chunk, const std::string& dtype, bool symmetric,
         bool in_place, const std::string& model, bool energy) {
        check(topology, ranks);
        return start(cost::Programs(find_algorithm(algorithm), ranks, params), topology,
                     {nbytes, chunk, dtype, model, symmetric, in_place, energy});
      },
      nb::arg("algorithm"), nb::arg("topology"), nb::arg("ranks"), nb::arg("nbytes"),
      nb::arg("params"), nb::arg("chunk"), nb::arg("dtype"), nb::arg("symmetric"),
      nb::arg("in_place"), nb::arg("model"), nb::arg("energy"),
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "start_plan",
      [](const Plan& plan, const Topology& topology, std::size_t nbytes, std::size_t chunk,
         const std::string& dtype, bool symmetric, bool in_place, const std::string& model,
         bool energy) {
        check(topology, plan.shape.ranks);
        return start(cost::Programs(plan), topology,
                     {nbytes, chunk, dtype, model, symmetric, in_place, energy});
      },
      nb::arg("plan"), nb::arg("topology"), nb::arg("nbytes"), nb::arg("chunk"), nb::arg("dtype"),
      nb::arg("symmetric"), nb::arg("in_place"), nb::arg("model"), nb::arg("energy"),
      nb::call_guard<nb::gil_scoped_release>());
}

// src/simulate/training.h, which Python fills in a piece at a time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../bindings/param.h"
#include "child.h"
#include "module.h"
#include "select/cut.h"
#include "weft/registry.h"

namespace nb = nanobind;
namespace weft::simulate {
namespace {

using Kind = TrainingStep::Operation::Kind;

// How a collective is called.
struct Called {
  std::size_t nbytes, chunk;
  const std::string& dtype;
  bool symmetric;
  int priority;
};

// Not thread safe.
class StepBuilder {
 public:
  explicit StepBuilder(int ranks) : ranks_(ranks) {
    step_.programs.resize(static_cast<std::size_t>(ranks));
  }

  // Programs are written once for all calls of an algorithm.
  void add_algorithm(const std::string& algorithm, const Params& params, const Called& how) {
    std::shared_ptr<const cost::Programs>& programs = known_[to_text(Choice{algorithm, params})];
    if (!programs)
      programs = std::make_shared<const cost::Programs>(find_algorithm(algorithm), ranks_, params);
    add(programs, how);
  }
  // The plan outlives this.
  void add_plan(const Plan& plan, const Called& how) {
    add(std::make_shared<const cost::Programs>(plan), how);
  }
  void add_task(int lane, int collective) { step_.tasks.push_back({lane, collective}); }

  void compute(int rank, double seconds) {
    program(rank).push_back({.kind = Kind::kCompute, .seconds = seconds});
  }
  void start(int rank, int task, double seconds, const std::vector<int>& after) {
    program(rank).push_back(
        {.kind = Kind::kStart, .seconds = seconds, .task = task, .after = after});
  }
  void wait(int rank, int task, bool before) {
    program(rank).push_back({.kind = Kind::kWait, .task = task, .before = before});
  }

  std::pair<int, int> run(const Topology& topology, int iterations, double slowdown,
                          const std::string& model) {
    check(topology, ranks_);
    step_.iterations = iterations;
    step_.slowdown = slowdown;
    Options options;
    options.model = model_of(model);
    const Child child = simulate::start(step_, topology, options);
    return {child.process, child.reader};
  }

 private:
  void add(std::shared_ptr<const cost::Programs> programs, const Called& how) {
    const PriceOptions options{
        .chunk = how.chunk, .dtype = parse_dtype(how.dtype), .symmetric = how.symmetric};
    cost::Call call = call_of(*programs, how.nbytes, options);
    step_.collectives.push_back({std::move(programs), std::move(call), how.priority});
  }
  std::vector<TrainingStep::Operation>& program(int rank) {
    return step_.programs.at(static_cast<std::size_t>(rank));
  }

  int ranks_;
  TrainingStep step_;
  std::map<std::string, std::shared_ptr<const cost::Programs>> known_;
};

}  // namespace

void bind_training_step(nb::module_& m) {
  nb::class_<StepBuilder>(m, "TrainingStep", "A training step. Use weft.simulate_step.")
      .def(nb::init<int>(), nb::arg("ranks"))
      .def(
          "add_algorithm",
          [](StepBuilder& self, const std::string& algorithm, const Params& params,
             std::size_t nbytes, std::size_t chunk, const std::string& dtype, bool symmetric,
             int priority) {
            self.add_algorithm(algorithm, params, {nbytes, chunk, dtype, symmetric, priority});
          },
          nb::arg("algorithm"), nb::arg("params"), nb::arg("nbytes"), nb::arg("chunk"),
          nb::arg("dtype"), nb::arg("symmetric"), nb::arg("priority"))
      .def(
          "add_plan",
          [](StepBuilder& self, const Plan& plan, std::size_t nbytes, std::size_t chunk,
             const std::string& dtype, bool symmetric,
             int priority) { self.add_plan(plan, {nbytes, chunk, dtype, symmetric, priority}); },
          nb::arg("plan"), nb::arg("nbytes"), nb::arg("chunk"), nb::arg("dtype"),
          nb::arg("symmetric"), nb::arg("priority"), nb::keep_alive<1, 2>())
      .def("add_task", &StepBuilder::add_task, nb::arg("lane"), nb::arg("collective"))
      .def("compute", &StepBuilder::compute, nb::arg("rank"), nb::arg("seconds"))
      .def("start", &StepBuilder::start, nb::arg("rank"), nb::arg("task"), nb::arg("seconds"),
           nb::arg("after"))
      .def("wait", &StepBuilder::wait, nb::arg("rank"), nb::arg("task"), nb::arg("before"))
      .def("run", &StepBuilder::run, nb::arg("topology"), nb::arg("iterations"),
           nb::arg("slowdown"), nb::arg("model"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace weft::simulate

#include "simulate/simulate.h"

#include <simgrid/plugins/energy.h>

#include <optional>
#include <vector>

#include "simulate/simulation.h"
#include "simulate/training_run.h"

namespace weft::simulate {
namespace {

std::vector<const char*> arguments(Model model) {
  std::vector<const char*> all = {"weft", "--log=root.thresh:error",
                                  // Shorter times count as none: less than a byte takes.
                                  "--cfg=surf/precision:1e-12"};
  if (model == Model::kSmpi)
    all.insert(all.end(), {"--cfg=network/model:SMPI"});
  else
    all.insert(all.end(), {"--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                           "--cfg=network/TCP-gamma:0"});
  return all;
}

// SimGrid's engine, one a process.
class Engine {
 public:
  explicit Engine(Model model) : words_(arguments(model)), count_(static_cast<int>(words_.size())) {
    words_.push_back(nullptr);
    engine_.emplace(&count_, const_cast<char**>(words_.data()));
  }
  simgrid::s4u::Engine& operator*() { return *engine_; }

 private:
  std::vector<const char*> words_;
  int count_;
  std::optional<simgrid::s4u::Engine> engine_;
};

}  // namespace

Outcome simulate(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
                 const Options& options) {
  Engine engine(options.model);
  if (options.energy) sg_link_energy_plugin_init();
  Traffic traffic(topology, pairs_of(programs), options, *engine);
  Simulation simulation(programs, call, topology, traffic, 0, [](int, double) {});
  simulation.start_all();
  traffic.run();
  const Price& found = simulation.finish();
  traffic.idle_until(found.seconds);
  return {found.seconds, options.energy ? traffic.joules() : 0, found.messages, found.bytes};
}

TrainingOutcome simulate_training(const TrainingStep& step, const Topology& topology,
                                  const Options& options) {
  Engine engine(options.model);
  return TrainingRun(step, topology, options, *engine).run();
}

}  // namespace weft::simulate

#include "simulate/simulate.h"

#include <simgrid/plugins/energy.h>

#include <vector>

#include "simulate/simulation.h"

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

}  // namespace

Outcome simulate(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
                 const Options& options) {
  std::vector<const char*> words = arguments(options.model);
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  simgrid::s4u::Engine engine(&count, const_cast<char**>(words.data()));
  if (options.energy) sg_link_energy_plugin_init();
  Simulation simulation(programs, call, topology, options, engine);
  const Price& found = simulation.run();
  return {found.seconds, options.energy ? simulation.joules() : 0, found.messages, found.bytes};
}

}  // namespace weft::simulate

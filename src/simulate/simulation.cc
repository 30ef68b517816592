#include "simulate/simulation.h"

#include "plan/verbs.h"

namespace weft::simulate {

std::set<std::pair<int, int>> pairs_of(const cost::Programs& programs) {
  std::set<std::pair<int, int>> pairs;
  for (int rank = 0; rank < programs.shape().ranks; ++rank) {
    const Program& program = programs.program(programs.number(rank));
    for (std::size_t s = 0; s < program.size(); ++s)
      for (std::size_t i = 0; i < program[s].steps.size(); ++i) {
        const Step& step = program[s].steps[i];
        if (!traits_of(step.verb).sends()) continue;
        for (const Index& peer : step.peers)
          for (int round = 0; round < (peer.constant() ? 1 : program[s].rounds); ++round)
            pairs.emplace(rank, programs.peer(rank, s, i, peer.at(round)));
      }
  }
  return pairs;
}

Simulation::Simulation(const cost::Programs& programs, const cost::Call& call,
                       const Topology& topology, Traffic& traffic, int priority, Ended ended)
    : TimeDomain(programs, call, topology),
      traffic_(traffic),
      priority_(priority),
      ended_(std::move(ended)) {}

void Simulation::start(int rank, double seconds) {
  ready(rank, seconds);
  run_ready();
}

void Simulation::start_all() {
  ready_all();
  run_ready();
}

void Simulation::carry(const cost::Flow& flow, std::int32_t) {
  ++under_way_;
  traffic_.carry(flow, priority_, *this);
}

void Simulation::end(int rank, double seconds) {
  ++through_;
  ended_(rank, seconds);
}

void Simulation::arrived(const cost::Flow& flow) {
  --under_way_;
  arrive(flow);
  run_ready();
}

}  // namespace weft::simulate

#include "simulate/simulation.h"

#include <simgrid/kernel/Timer.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "plan/verbs.h"

namespace weft::simulate {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

constexpr std::int64_t kTellEvery = 4096;  // messages

// All pairs of which one sends to the other.
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

}  // namespace

Simulation::Simulation(const cost::Programs& programs, const cost::Call& call,
                       const Topology& topology, const Options& options, sg::Engine& engine)
    : TimeDomain(programs, call, topology),
      options_(options),
      engine_(engine),
      platform_(topology, routes_, pairs_of(programs), options.model == Model::kSmpi) {}

const Price& Simulation::run() {
  sg::Comm::on_completion_cb([this](const auto& activity) {
    left(*static_cast<const sg::Comm&>(activity).template get_data<Queue>());
  });
  run_ready();
  engine_.run();
  const Price& price = finish();
  // Links go on idling while the last ranks compute.
  if (price.seconds > sg::Engine::get_clock()) engine_.run_until(price.seconds);
  return price;
}

// Queued at once: timers of the same moment go off in any order, but a rank's messages keep theirs.
void Simulation::carry(const cost::Flow& flow, std::int32_t) {
  Queue& queue = queue_of(flow);
  queue.push_back(std::make_unique<Flight>(Flight{flow}));
  if (queue.size() == 1) depart(queue);
}

Simulation::Queue& Simulation::queue_of(const cost::Flow& flow) {
  return queues_[{flow.from, topology_.one_port ? -1 : flow.to}];
}

// The first of a queue goes as soon as it is ready: a rank's clock may be ahead of the
// simulation's.
void Simulation::depart(Queue& queue) {
  const double ready = queue.front()->flow.ready;
  if (ready <= sg::Engine::get_clock())
    send(queue);
  else
    Timer::set(ready, [this, &queue] { send(queue); });
}

void Simulation::send(Queue& queue) {
  Flight& flight = *queue.front();
  const cost::Flow& flow = flight.flow;
  if (routes_.path(flow.from, flow.to).empty()) {
    Timer::set(sg::Engine::get_clock(), [this, &queue] { left(queue); });
    return;
  }
  platform_.use(flow.from, flow.to);
  flight.comm = sg::Comm::sendto_init(platform_.host(flow.from), platform_.host(flow.to));
  flight.comm->set_payload_size(static_cast<std::uint64_t>(std::llround(size_of(flow))));
  flight.comm->set_data(&queue);
  flight.comm->start();
}

// A link's overhead is time in which it carries nothing else, so it is counted as bytes.
double Simulation::size_of(const cost::Flow& flow) {
  double most = flow.bytes;
  for (const Routes::Hop& hop : routes_.path(flow.from, flow.to)) {
    const Topology::Link& link = topology_.links[static_cast<std::size_t>(hop.link)];
    most = std::max(most, flow.bytes + link.overhead * link.bandwidth);
  }
  return most;
}

// The first of a queue has left its sender, and with MPI's latencies has arrived as well.
void Simulation::left(Queue& queue) {
  last_ = std::move(queue.front());
  queue.pop_front();
  if (!queue.empty()) depart(queue);
  cost::Flow& flow = last_->flow;
  flow.left = flow.arrival = sg::Engine::get_clock();
  if (options_.model == Model::kPlain) flow.arrival += routes_.latency(flow.from, flow.to);
  if (flow.arrival > flow.left)
    Timer::set(flow.arrival, [this, flow] { arrived(flow); });
  else
    arrived(flow);
}

void Simulation::arrived(const cost::Flow& flow) {
  if (++arrived_ % kTellEvery == 0) options_.progress(arrived_);
  arrive(flow);
  run_ready();
}

}  // namespace weft::simulate

#include "simulate/traffic.h"

#include <simgrid/kernel/Timer.hpp>

#include <algorithm>
#include <cmath>

namespace weft::simulate {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

constexpr std::int64_t kTellEvery = 4096;  // messages

}  // namespace

Traffic::Traffic(const Topology& topology, const std::set<std::pair<int, int>>& pairs,
                 const Options& options, sg::Engine& engine)
    : topology_(topology),
      options_(options),
      engine_(engine),
      routes_(topology),
      platform_(topology, routes_, pairs, options.model == Model::kSmpi) {
  sg::Comm::on_completion_cb([this](const auto& activity) {
    left(*static_cast<const sg::Comm&>(activity).template get_data<Connection>());
  });
}

void Traffic::run() { engine_.run(); }

void Traffic::idle_until(double seconds) {
  if (seconds > sg::Engine::get_clock()) engine_.run_until(seconds);
}

// Queued at once: timers of the same moment go off in any order, but a rank's messages keep theirs.
void Traffic::carry(const cost::Flow& flow, int priority, Reader& reader) {
  Connection& connection = connections_[{flow.from, topology_.one_port ? -1 : flow.to}];
  connection.waiting.push_back({flow, priority, &reader});
  if (!connection.sent) depart(connection);
}

// Sends the message whose turn it is, or comes back when the first one is ready: a rank's clock may
// be ahead of the simulation's.
void Traffic::depart(Connection& connection) {
  const double now = sg::Engine::get_clock();
  double soonest = kNever;
  auto turn = connection.waiting.end();
  for (auto at = connection.waiting.begin(); at != connection.waiting.end(); ++at) {
    soonest = std::min(soonest, at->flow.ready);
    const bool ready = at->flow.ready <= now;
    if (ready && (turn == connection.waiting.end() || at->priority > turn->priority)) turn = at;
  }
  if (turn != connection.waiting.end()) {
    connection.sent = *turn;
    connection.waiting.erase(turn);
    send(connection);
  } else if (soonest < connection.timer) {
    connection.timer = soonest;
    Timer::set(soonest, [this, &connection] {
      connection.timer = kNever;
      if (!connection.sent) depart(connection);
    });
  }
}

void Traffic::send(Connection& connection) {
  const cost::Flow& flow = connection.sent->flow;
  if (routes_.path(flow.from, flow.to).empty()) {
    Timer::set(sg::Engine::get_clock(), [this, &connection] { left(connection); });
    return;
  }
  platform_.use(flow.from, flow.to);
  connection.comm = sg::Comm::sendto_init(platform_.host(flow.from), platform_.host(flow.to));
  connection.comm->set_payload_size(static_cast<std::uint64_t>(std::llround(size_of(flow))));
  connection.comm->set_data(&connection);
  connection.comm->start();
}

// A link's overhead is time in which it carries nothing else, so it is counted as bytes.
double Traffic::size_of(const cost::Flow& flow) {
  double most = flow.bytes;
  for (const Routes::Hop& hop : routes_.path(flow.from, flow.to)) {
    const Topology::Link& link = topology_.links[static_cast<std::size_t>(hop.link)];
    most = std::max(most, flow.bytes + link.overhead * link.bandwidth);
  }
  return most;
}

// A message has left its sender, and with MPI's latencies has arrived as well.
void Traffic::left(Connection& connection) {
  last_ = std::move(connection.comm);
  Flight flight = *connection.sent;
  connection.sent.reset();
  depart(connection);
  cost::Flow& flow = flight.flow;
  flow.left = flow.arrival = sg::Engine::get_clock();
  if (options_.model == Model::kPlain) flow.arrival += routes_.latency(flow.from, flow.to);
  if (flow.arrival > flow.left)
    Timer::set(flow.arrival, [this, flight] { arrived(flight); });
  else
    arrived(flight);
}

void Traffic::arrived(const Flight& flight) {
  if (++arrived_ % kTellEvery == 0) options_.progress(arrived_);
  flight.reader->arrived(flight.flow);
}

}  // namespace weft::simulate

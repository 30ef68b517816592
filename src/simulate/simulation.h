// Executes all ranks' programs in time, as the cost model does, but their messages are SimGrid's.
// It is an event loop without actors: a message that arrives lets its reader run on, which sends
// the next ones.
//
// Messages from one rank to another go one after the other, as on one connection; a rank with one
// port sends all of its messages so.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "passes/cost/time_domain.h"
#include "simulate/platform.h"
#include "simulate/simulate.h"

namespace weft::simulate {

// Used once, in the process's only engine. All arguments outlive it. Not thread safe.
class Simulation final : public cost::TimeDomain {
 public:
  Simulation(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
             const Options& options, simgrid::s4u::Engine& engine);

  // Until nothing is under way. Throws InvalidPlan if ranks wait for ever.
  const Price& run();
  double joules() const { return platform_.joules(); }

 private:
  struct Flight {
    cost::Flow flow;
    simgrid::s4u::CommPtr comm = nullptr;
  };
  using Queue = std::deque<std::unique_ptr<Flight>>;

  void carry(const cost::Flow& flow, std::int32_t depth) override;
  void depart(Queue& queue);
  void send(Queue& queue);
  void left(Queue& queue);
  void arrived(const cost::Flow& flow);
  Queue& queue_of(const cost::Flow& flow);
  double size_of(const cost::Flow& flow);

  const Options& options_;
  simgrid::s4u::Engine& engine_;
  Platform platform_;
  std::map<std::pair<int, int>, Queue>
      queues_;  // the first of each is under way, or the next to go
  // Freed with the next one: SimGrid still holds a communication when it tells of its end.
  std::unique_ptr<Flight> last_;
  std::int64_t arrived_ = 0;
};

}  // namespace weft::simulate

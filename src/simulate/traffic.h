// The messages of all collectives under way, in SimGrid. It is an event loop without actors: a
// message that arrives lets its reader run on, which sends the next ones.
//
// Messages from one rank to another go one after the other, as on one connection; a rank with one
// port sends all of its messages so. Of those that are ready the highest priority goes first, then
// the oldest.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "passes/cost/flow.h"
#include "simulate/platform.h"
#include "simulate/simulate.h"

namespace weft::simulate {

// One in the process's only engine. All arguments outlive it. Not thread safe.
class Traffic {
 public:
  class Reader {
   public:
    virtual void arrived(const cost::Flow& flow) = 0;

   protected:
    ~Reader() = default;
  };

  // `pairs` are those that may send.
  Traffic(const Topology& topology, const std::set<std::pair<int, int>>& pairs,
          const Options& options, simgrid::s4u::Engine& engine);
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // The message leaves at flow.ready or later. The reader gets it with what is found, and lives
  // until then. A rank's messages of one reader come in the order of flow.ready.
  void carry(const cost::Flow& flow, int priority, Reader& reader);
  // Until nothing is under way.
  void run();
  // Until then: links go on idling while the last ranks compute.
  void idle_until(double seconds);
  double joules() const { return platform_.joules(); }
  std::int64_t messages() const { return arrived_; }  // that have arrived

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Flight {
    cost::Flow flow;
    int priority;
    Reader* reader;
  };
  struct Connection {
    std::deque<Flight> waiting = {};            // in the order of carry()
    std::optional<Flight> sent = std::nullopt;  // under way
    simgrid::s4u::CommPtr comm = nullptr;
    double timer = kNever;  // when it next looks for a message that is ready
  };

  void depart(Connection& connection);
  void send(Connection& connection);
  void left(Connection& connection);
  void arrived(const Flight& flight);
  double size_of(const cost::Flow& flow);

  const Topology& topology_;
  const Options& options_;
  simgrid::s4u::Engine& engine_;
  Routes routes_;
  Platform platform_;
  std::map<std::pair<int, int>, Connection> connections_;
  // Freed with the next one: SimGrid still holds a communication when it tells of its end.
  simgrid::s4u::CommPtr last_;
  std::int64_t arrived_ = 0;
};

}  // namespace weft::simulate

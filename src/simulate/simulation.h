// Executes all ranks' programs of one plan in time, as the cost model does, but their messages are
// SimGrid's (traffic.h).
#pragma once

#include <functional>
#include <set>
#include <utility>

#include "passes/cost/time_domain.h"
#include "simulate/traffic.h"

namespace weft::simulate {

// All pairs of ranks of which one sends to the other.
std::set<std::pair<int, int>> pairs_of(const cost::Programs& programs);

// Used once; several may share their traffic. All arguments outlive it. Not thread safe.
class Simulation final : public cost::TimeDomain, private Traffic::Reader {
 public:
  // Called once for each rank: when it is through.
  using Ended = std::function<void(int rank, double seconds)>;
  Simulation(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
             Traffic& traffic, int priority, Ended ended);

  // Lets one rank begin then, or all ranks at 0. A rank begins once.
  void start(int rank, double seconds);
  void start_all();
  // Whether nothing of it is under way and all ranks are through.
  bool over() const { return under_way_ == 0 && through_ == ranks_.size(); }
  using cost::TimeDomain::finish;

 private:
  void carry(const cost::Flow& flow, std::int32_t depth) override;
  void end(int rank, double seconds) override;
  void arrived(const cost::Flow& flow) override;

  Traffic& traffic_;
  int priority_;
  Ended ended_;
  std::int64_t under_way_ = 0;
  std::size_t through_ = 0;
};

}  // namespace weft::simulate

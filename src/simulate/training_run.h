// Executes iterations of a training step: the ranks' programs, their lanes, and the collectives
// under way.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "simulate/simulation.h"
#include "simulate/training.h"

namespace weft::simulate {

// Used once. All arguments outlive it. Not thread safe.
//
// Whatever a rank does next is a timer of SimGrid, so that no rank is ahead of the simulation's
// clock except inside of a collective.
class TrainingRun {
 public:
  TrainingRun(const TrainingStep& step, const Topology& topology, const Options& options,
              simgrid::s4u::Engine& engine);

  // Until all ranks are through. Throws InvalidPlan if they wait for ever.
  TrainingOutcome run();

 private:
  using Operation = TrainingStep::Operation;
  // A task that a rank has started.
  struct Started {
    int iteration;
    std::size_t operation;
    double ready;
  };
  struct Lane {
    std::deque<Started> waiting = {};  // the first one runs if the lane is busy
    bool busy = false;
    double free = 0;   // since when
    double began = 0;  // the task that runs
  };
  struct Rank {
    std::size_t at = 0;  // of its program
    int iteration = 0;
    double now = 0;
    bool held = false;  // by a wait
    bool computing = false;
    double left = 0;      // of its computation at full speed, at `paced`
    double paced = 0;     // when its speed changed last
    int timers = 0;       // set for the end of computations; only the latest counts
    int collectives = 0;  // under way
    std::vector<Lane> lanes;
    std::vector<double> ended;  // by iteration and task; less than 0: it has not
  };

  void go(int rank);
  bool wait(int rank, const Operation& operation);
  void compute(int rank);
  void change_pace(int rank, double when, int collectives);
  double pace(const Rank& rank) const { return rank.collectives > 0 ? step_.slowdown : 1; }
  void serve(int rank, int lane);
  void start(int rank, int lane, double when);
  void end(int rank, int lane, double when);
  void note(int rank, const Started& what, double begin, double end);
  bool is_collective(int task) const {
    return step_.tasks[static_cast<std::size_t>(task)].collective >= 0;
  }
  Simulation& collective(int task, int iteration);
  double& ended(int rank, int iteration, int task);
  const Operation& operation(int rank, std::size_t at) const;
  Rank& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Lane& lane(int rank, int number) { return state(rank).lanes[static_cast<std::size_t>(number)]; }
  [[noreturn]] void stuck(int rank);

  const TrainingStep& step_;
  const Topology& topology_;
  Traffic traffic_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, Simulation> under_way_;  // by task and iteration
  TrainingOutcome outcome_;
};

}  // namespace weft::simulate

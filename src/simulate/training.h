// Training steps: each rank computes, starts collectives and copies that run beside it, and waits
// for them.
#pragma once

#include <memory>
#include <vector>

#include "simulate/simulate.h"

namespace weft::simulate {

// One step as data. Every iteration repeats it.
struct TrainingStep {
  struct Collective {
    std::shared_ptr<const cost::Programs> programs;
    cost::Call call;
    int priority = 0;  // its messages overtake those of lower ones
  };
  // What a rank starts and waits for: a collective of all ranks, or work of its own.
  struct Task {
    int lane = 0;         // of the rank; the tasks of a lane run one after the other, as started
    int collective = -1;  // of `collectives`; -1: the rank's own work
  };
  struct Operation {
    enum class Kind { kCompute, kStart, kWait };
    Kind kind = Kind::kCompute;
    double seconds = 0;  // of computation, or of the rank's own work
    int task = -1;       // that is started or waited for
    // kStart: tasks that must end first. The rank has started them in this iteration.
    std::vector<int> after = {};
    // kWait: for the task of the iteration before; the first iteration goes on at once.
    bool before = false;
  };

  std::vector<Collective> collectives;
  std::vector<Task> tasks;
  std::vector<std::vector<Operation>> programs;  // by rank
  int iterations = 1;
  // A rank computes so many times as long while a collective is under way on it; at least 1.
  double slowdown = 1;
};

// When an operation ran; of a start: when its task ran.
struct Span {
  int rank = 0, iteration = 0, operation = 0;
  double begin = 0, end = 0;
};

struct TrainingOutcome {
  std::vector<Span> spans;  // in the order of their ends, about
  std::int64_t messages = 0;
};

// Once a process, as simulate(). Options' energy is not looked at. Every rank starts the
// collectives of a lane in the same order. Throws InvalidPlan if ranks wait for ever.
TrainingOutcome simulate_training(const TrainingStep& step, const Topology& topology,
                                  const Options& options);

}  // namespace weft::simulate

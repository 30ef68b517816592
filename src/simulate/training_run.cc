#include "simulate/training_run.h"

#include <algorithm>
#include <set>
#include <simgrid/kernel/Timer.hpp>
#include <string>
#include <tuple>

#include "weft/error.h"

namespace weft::simulate {
namespace {

using simgrid::kernel::timer::Timer;

std::set<std::pair<int, int>> pairs_of_all(const TrainingStep& step) {
  std::set<std::pair<int, int>> pairs;
  for (const TrainingStep::Collective& collective : step.collectives)
    pairs.merge(pairs_of(*collective.programs));
  return pairs;
}

}  // namespace

TrainingRun::TrainingRun(const TrainingStep& step, const Topology& topology, const Options& options,
                         simgrid::s4u::Engine& engine)
    : step_(step),
      topology_(topology),
      traffic_(topology, pairs_of_all(step), options, engine),
      ranks_(step.programs.size()) {
  std::size_t lanes = 0;
  for (const TrainingStep::Task& task : step.tasks)
    lanes = std::max(lanes, static_cast<std::size_t>(task.lane) + 1);
  for (Rank& rank : ranks_) {
    rank.lanes.resize(lanes);
    rank.ended.resize(step.tasks.size() * static_cast<std::size_t>(step.iterations), -1);
  }
}

TrainingOutcome TrainingRun::run() {
  const int count = static_cast<int>(ranks_.size());
  for (int rank = count - 1; rank >= 0; --rank) go(rank);
  traffic_.run();
  for (int rank = 0; rank < count; ++rank) {
    const Rank& own = state(rank);
    const bool idle = std::ranges::none_of(own.lanes, [](const Lane& lane) { return lane.busy; });
    if (own.iteration < step_.iterations || !idle) stuck(rank);
  }
  outcome_.messages = traffic_.messages();
  return std::move(outcome_);
}

void TrainingRun::stuck(int rank) {
  for (auto& [key, simulation] : under_way_) simulation.finish();
  const Rank& own = state(rank);
  throw InvalidPlan("rank " + std::to_string(rank) + " waits for ever in iteration " +
                    std::to_string(own.iteration) + " at operation " + std::to_string(own.at) +
                    ": do all ranks start the collectives of a lane in the same order?");
}

// A rank's program, until it computes or has to wait.
void TrainingRun::go(int rank) {
  Rank& own = state(rank);
  const std::size_t size = step_.programs[static_cast<std::size_t>(rank)].size();
  while (own.iteration < step_.iterations) {
    for (; own.at < size; ++own.at) {
      const Operation& next = operation(rank, own.at);
      if (next.kind == Operation::Kind::kStart) {
        const int number = step_.tasks[static_cast<std::size_t>(next.task)].lane;
        lane(rank, number).waiting.push_back({own.iteration, own.at, own.now});
        serve(rank, number);
      } else if (next.kind == Operation::Kind::kWait) {
        if (!wait(rank, next)) return;
      } else if (next.seconds > 0) {
        own.left = next.seconds;
        own.paced = own.now;
        return compute(rank);
      }
    }
    own.at = 0;
    ++own.iteration;
  }
}

// Until what is left of the computation is done, if the pace does not change before.
void TrainingRun::compute(int rank) {
  Rank& own = state(rank);
  own.computing = true;
  const double end = own.paced + own.left * pace(own);
  Timer::set(end, [this, rank, end, timer = ++own.timers] {
    Rank& own = state(rank);
    if (timer != own.timers) return;
    own.computing = false;
    note(rank, {own.iteration, own.at, own.now}, own.now, end);
    ++own.at;
    own.now = end;
    go(rank);
  });
}

// So many collectives more are under way on the rank from then on.
void TrainingRun::change_pace(int rank, double when, int collectives) {
  Rank& own = state(rank);
  const double before = pace(own);
  own.collectives += collectives;
  if (!own.computing || pace(own) == before) return;
  own.left = std::max(0.0, own.left - (when - own.paced) / before);
  own.paced = when;
  compute(rank);
}

// False: the task has not ended, and its end lets the rank go on.
bool TrainingRun::wait(int rank, const Operation& operation) {
  Rank& own = state(rank);
  const int iteration = own.iteration - operation.before;
  if (iteration < 0) return true;
  const double when = ended(rank, iteration, operation.task);
  own.held = when < 0;
  if (own.held) return false;
  const double end = std::max(own.now, when);
  note(rank, {own.iteration, own.at, own.now}, own.now, end);
  own.now = end;
  return true;
}

// The first task of a lane begins, once the one before it and those that it follows have ended.
void TrainingRun::serve(int rank, int number) {
  Lane& lane = this->lane(rank, number);
  if (lane.busy || lane.waiting.empty()) return;
  const Started& first = lane.waiting.front();
  double when = std::max(lane.free, first.ready);
  for (int task : operation(rank, first.operation).after) {
    const double before = ended(rank, first.iteration, task);
    if (before < 0) return;
    when = std::max(when, before);
  }
  lane.busy = true;
  lane.began = when;
  start(rank, number, when);
}

void TrainingRun::start(int rank, int number, double when) {
  const Started& first = lane(rank, number).waiting.front();
  const Operation& own = operation(rank, first.operation);
  if (is_collective(own.task)) {
    change_pace(rank, when, 1);
    return collective(own.task, first.iteration).start(rank, when);
  }
  const double end = when + own.seconds;
  Timer::set(end, [this, rank, number, end] { this->end(rank, number, end); });
}

// A lane's task has ended. Called by timers only, so no simulation is in the middle of something.
void TrainingRun::end(int rank, int number, double when) {
  std::erase_if(under_way_, [](const auto& entry) { return entry.second.over(); });
  Rank& own = state(rank);
  Lane& lane = this->lane(rank, number);
  const Started first = lane.waiting.front();
  note(rank, first, lane.began, when);
  lane.waiting.pop_front();
  lane.busy = false;
  lane.free = when;
  const int task = operation(rank, first.operation).task;
  ended(rank, first.iteration, task) = when;
  if (is_collective(task)) change_pace(rank, when, -1);
  for (int other = 0; other < static_cast<int>(own.lanes.size()); ++other) serve(rank, other);
  if (own.held) go(rank);
}

Simulation& TrainingRun::collective(int task, int iteration) {
  const auto found = under_way_.find({task, iteration});
  if (found != under_way_.end()) return found->second;
  const TrainingStep::Task& own = step_.tasks[static_cast<std::size_t>(task)];
  const TrainingStep::Collective& what =
      step_.collectives[static_cast<std::size_t>(own.collective)];
  const int number = own.lane;
  const Simulation::Ended ended = [this, number](int rank, double when) {
    Timer::set(when, [this, rank, number, when] { end(rank, number, when); });
  };
  return under_way_
      .emplace(std::piecewise_construct, std::forward_as_tuple(task, iteration),
               std::forward_as_tuple(*what.programs, what.call, topology_, traffic_, what.priority,
                                     ended))
      .first->second;
}

void TrainingRun::note(int rank, const Started& what, double begin, double end) {
  outcome_.spans.push_back({rank, what.iteration, static_cast<int>(what.operation), begin, end});
}

double& TrainingRun::ended(int rank, int iteration, int task) {
  const std::size_t row = static_cast<std::size_t>(iteration) * step_.tasks.size();
  return state(rank).ended[row + static_cast<std::size_t>(task)];
}

const TrainingStep::Operation& TrainingRun::operation(int rank, std::size_t at) const {
  return step_.programs[static_cast<std::size_t>(rank)][at];
}

}  // namespace weft::simulate

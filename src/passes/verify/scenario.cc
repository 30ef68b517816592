#include "passes/verify/scenario.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "plan/check.h"

namespace weft::verifier {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

using Counts = std::function<std::size_t(int, int)>;  // (from, to) -> elements

// Counts of the collectives that fix their blocks. The side with a block a rank counts by
// the rank at the other end.
Scenario counted(const PlanShape& shape, std::string name, const Counts& count) {
  Scenario scenario;
  scenario.name = std::move(name);
  auto row = [&](int blocks, auto&& one) {
    std::vector<std::size_t> counts(index(blocks));
    for (int b = 0; b < blocks; ++b) counts[index(b)] = one(b);
    return Partition::of(counts);
  };
  bool all = shape.collective == Collective::kAlltoall;
  bool gathers = shape.collective == Collective::kAllgather ||
                 shape.collective == Collective::kGather ||
                 shape.collective == Collective::kSendRecv;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    scenario.input.push_back(row(shape.input_blocks, [&](int b) {
      return all ? count(rank, b) : gathers ? count(rank, 0) : count(b, 0);
    }));
    scenario.output.push_back(row(shape.output_blocks, [&](int b) {
      return all ? count(b, rank) : gathers ? count(b, 0) : count(rank, 0);
    }));
  }
  return scenario;
}

Scenario divided(const PlanShape& shape, std::string name, std::size_t total) {
  Scenario scenario;
  scenario.name = std::move(name);
  scenario.input.assign(index(shape.ranks), Partition::even(total, shape.input_blocks, 1));
  scenario.output.assign(index(shape.ranks), Partition::even(total, shape.output_blocks, 1));
  return scenario;
}

// Sizes whose largest block has `trips` chunks, the last of one element.
std::vector<Scenario> sizes_of(const PlanShape& shape, int trips) {
  std::string name = std::to_string(trips) + " chunks a block, ";
  std::size_t most = trips == 0 ? 0 : 2 * index(trips) - 1;
  std::vector<Scenario> sizes;
  if (fixed_blocks(shape.collective, shape.ranks).input < 0) {
    auto blocks = index(std::max({shape.input_blocks, shape.output_blocks, 1}));
    // All blocks full; the last one shorter; as many empty as blocks of this size leave.
    std::set<std::size_t> totals = {most * blocks};
    if (trips > 0) totals.insert({most * blocks - 1, (most - 1) * blocks + 1});
    for (std::size_t total : totals)
      sizes.push_back(divided(shape, name + std::to_string(total) + " elements", total));
    return sizes;
  }
  sizes.push_back(counted(shape, name + "equal counts", [=](int, int) { return most; }));
  if (shape.collective == Collective::kBarrier || shape.collective == Collective::kSendRecv ||
      trips == 0)
    return sizes;
  // Every pair of neighbours differs, and who has nothing changes with the size.
  std::array<std::size_t, 5> cycle = {most, 0, most - most / 2, 1, 2 * index(trips)};
  sizes.push_back(counted(shape, name + "counts by rank", [=](int from, int to) {
    return cycle[(index(from) + 2 * index(to) + index(trips)) % cycle.size()];
  }));
  return sizes;
}

bool can_alias(const PlanShape& shape, int rank) {
  return shape.collective != Collective::kAlltoall && shape.collective != Collective::kSendRecv &&
         shape.collective != Collective::kBarrier && has_input(shape, rank) &&
         has_output(shape, rank);
}

bool moves_slots(const Step& step) { return step.verb == Verb::kPut && step.dst.empty(); }

}  // namespace

bool has_input(const PlanShape& shape, int rank) {
  switch (shape.collective) {
    case Collective::kBroadcast:
    case Collective::kScatter: return rank == root_of(shape);
    case Collective::kSendRecv: return rank == 0;
    case Collective::kBarrier: return false;
    default: return true;
  }
}

bool has_output(const PlanShape& shape, int rank) {
  switch (shape.collective) {
    case Collective::kReduce:
    case Collective::kGather: return rank == root_of(shape);
    case Collective::kSendRecv: return rank == 1;
    case Collective::kBarrier: return false;
    default: return true;
  }
}

int root_of(const PlanShape& shape) {
  auto root = shape.params.find("root");
  return has_root(shape.collective) && root != shape.params.end() ? root->second : 0;
}

int enough_trips(const Plan& plan) {
  int most = 1;
  for (const Channel& channel : plan.shape.channels) most = std::max(most, channel.slots);
  for (const Program& program : plan.programs)
    for (const Section& section : program) {
      if (!section.chunked) continue;
      std::set<int> filled;  // channels whose signals carry payload and so are held by slots
      for (const Step& step : section.steps)
        for (const Operand& operand : step.dst)
          if (operand.buffer == Buffer::kSlot) filled.insert(operand.channel);
      for (const Step& step : section.steps) {
        most = std::max<int>(most, step.lag);
        bool sends = step.verb == Verb::kSignal || step.verb == Verb::kPut;
        // Nothing but the mailbox stops a sender of messages without a slot.
        if (sends && !moves_slots(step) && !filled.contains(step.channel))
          most = std::max(most, kMailboxDepth);
      }
    }
  return 2 * most + 1;
}

std::vector<Scenario> scenarios_of(const PlanShape& shape, int trips) {
  struct Placement {
    const char* name;
    bool even, odd;  // in place on even ranks, on odd ranks
  };
  constexpr std::array<Placement, 3> kPlacements = {{{"out of place", false, false},
                                                     {"in place", true, true},
                                                     {"in place on odd ranks", false, true}}};
  std::vector<Scenario> all;
  for (const Scenario& size : sizes_of(shape, trips)) {
    std::set<std::vector<bool>> seen;
    for (const Placement& placement : kPlacements) {
      Scenario scenario = size;
      for (int rank = 0; rank < shape.ranks; ++rank)
        scenario.in_place.push_back(can_alias(shape, rank) &&
                                    (rank % 2 ? placement.odd : placement.even));
      scenario.name += std::string(", ") + placement.name;
      if (seen.insert(scenario.in_place).second) all.push_back(std::move(scenario));
    }
  }
  return all;
}

std::vector<Scenario> scenarios(const PlanShape& shape, int max_trips) {
  std::vector<Scenario> all;
  for (int trips = 0; trips <= max_trips; ++trips)
    std::ranges::move(scenarios_of(shape, trips), std::back_inserter(all));
  return all;
}

}  // namespace weft::verifier

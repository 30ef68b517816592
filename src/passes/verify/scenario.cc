#include "passes/verify/scenario.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "plan/check.h"
#include "plan/verbs.h"
#include "weft/collective.h"

namespace weft::verifier {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

// Bits that look random, the same in every run, for up to three numbers (splitmix64).
std::uint64_t hashed(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  std::uint64_t bits = 0;
  for (std::uint64_t number : {a, b, c}) {
    bits = (bits ^ number) + 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
  }
  return bits;
}

// Enough for any plan without lags: each message has a mailbox to go to.
constexpr int kMostTrips = 2 * kMailboxDepth + 1;

// Whether the caller may give counts by rank.
bool counts_differ(const PlanShape& shape) {
  return traits_of(shape.collective).by_rank() && !shape.equal_counts;
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
  const CollectiveTraits& traits = traits_of(shape.collective);
  const bool all = traits.exchanges(), gathers = !traits.input.by_rank();
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

// What hashed() is asked for.
enum : std::uint64_t { kTotal, kBlock, kCount, kUnknown, kExecuted };

// Blocks of the count in size variables.
Partition variable_blocks(int blocks) {
  std::vector<std::size_t> sums;
  std::size_t rest = hashed(kTotal);
  for (int b = 0; b < blocks; ++b) {
    sums.push_back(b + 1 < blocks ? hashed(kBlock, index(blocks), index(b)) : rest);
    rest -= sums.back();
  }
  return Partition::of(sums);
}

// The blocks of a rank that is not the root, which may have been told its own count alone.
Partition unknown_blocks(const PlanShape& shape, int rank) {
  std::vector<std::size_t> sums;
  for (int b = 0; b < shape.ranks; ++b)
    sums.push_back(b == rank ? hashed(kCount, index(b)) : hashed(kUnknown, index(rank), index(b)));
  return Partition::of(sums);
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
  if (!counts_differ(shape) || trips == 0) return sizes;
  // One block is full, the others have what a hash says; who has what changes with the size.
  std::size_t even = 2 * index(trips);
  auto by_rank = [&](const char* what, bool empty) {
    sizes.push_back(counted(shape, name + what, [=](int from, int to) {
      const int turn = (from + to + trips) % shape.ranks;
      if (turn == 0) return even;
      const std::uint64_t bits = hashed(kExecuted, index(trips), index(from * shape.ranks + to));
      return empty && (turn == 1 || bits >> 63) ? std::size_t{0} : 1 + bits % even;
    }));
  };
  by_rank("counts by rank", false);
  by_rank("some empty", true);
  // One block so much longer that its messages alone fill slots that many blocks share.
  std::size_t longest = 2 * index(std::max(trips, std::min(trips * shape.ranks, kMostTrips))) - 1;
  sizes.push_back(counted(shape, name + "one long", [=](int from, int to) {
    return (from + to + 1) % shape.ranks == 0 ? longest : std::size_t{1};
  }));
  if (!shape.in_place) return sizes;
  // In place a pair exchanges as much as it gets.
  sizes.push_back(counted(shape, name + "counts by pair", [=](int from, int to) {
    const int pair = std::min(from, to) * shape.ranks + std::max(from, to);
    return hashed(kExecuted, index(trips), index(pair)) % (most + 1);
  }));
  return sizes;
}

bool can_alias(const PlanShape& shape, const Scenario& size, int rank) {
  if (traits_of(shape.collective).exchanges())
    return shape.in_place && size.input[index(rank)] == size.output[index(rank)];
  return has_input(shape, rank) && has_output(shape, rank);
}

// Trips of a section that its sends on `channel` can be ahead of what is credited.
int trips_under_way(const Section& section, int channel, int slots) {
  int sends = 0;
  bool filled = false;
  for (const Step& step : section.steps) {
    for (const Operand& operand : step.dst)
      filled = filled || (operand.buffer == Buffer::kSlot && operand.channel == channel);
    if (step.channel != channel) continue;
    if (traits_of(step.verb).sends()) ++sends;
    filled = filled || step.verb == Verb::kPut;
  }
  if (sends == 0) return 0;
  // Nothing but the mailbox holds back messages without a slot.
  if (!filled) return kMailboxDepth;
  return std::min((slots - 1) / sends + 1, kMailboxDepth);
}

}  // namespace

bool has_input(const PlanShape& shape, int rank) {
  return holds(traits_of(shape.collective).input.holder, rank, root_of(shape));
}

bool has_output(const PlanShape& shape, int rank) {
  return holds(traits_of(shape.collective).output.holder, rank, root_of(shape));
}

int root_of(const PlanShape& shape) {
  auto root = shape.params.find("root");
  if (!traits_of(shape.collective).rooted()) return 0;
  if (root == shape.params.end()) return -1;
  const int* number = std::get_if<int>(&root->second.value());
  return number == nullptr ? -1 : *number;
}

Scenario variables_of(const PlanShape& shape) {
  if (fixed_blocks(shape.collective, shape.ranks).input < 0) {
    Scenario variables;
    variables.input.assign(index(shape.ranks), variable_blocks(shape.input_blocks));
    variables.output.assign(index(shape.ranks), variable_blocks(shape.output_blocks));
    return variables;
  }
  if (!counts_differ(shape)) return counted(shape, "", [](int, int) { return hashed(kTotal); });
  Scenario variables =
      counted(shape, "", [](int from, int to) { return hashed(kCount, index(from), index(to)); });
  const CollectiveTraits& traits = traits_of(shape.collective);
  if (!traits.rooted()) return variables;
  auto& large = traits.output.by_rank() ? variables.output : variables.input;
  for (int rank = 0; rank < shape.ranks; ++rank)
    if (rank != root_of(shape)) large[index(rank)] = unknown_blocks(shape, rank);
  return variables;
}

int enough_trips(const Plan& plan) {
  int most = 1;
  for (const Program& program : plan.programs)
    for (const Section& section : program) {
      if (!section.chunked) continue;
      for (const Step& step : section.steps) most = std::max<int>(most, step.lag);
      for (int c = 0; c < static_cast<int>(plan.shape.channels.size()); ++c)
        most = std::max(
            most,
            trips_under_way(section, c, plan.shape.channels[static_cast<std::size_t>(c)].slots));
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
        scenario.in_place.push_back(can_alias(shape, size, rank) &&
                                    (rank % 2 ? placement.odd : placement.even));
      scenario.name += std::string(", ") + placement.name;
      if (seen.insert(scenario.in_place).second) all.push_back(std::move(scenario));
    }
  }
  return all;
}

}  // namespace weft::verifier

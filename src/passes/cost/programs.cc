#include "passes/cost/programs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

#include "passes/verify/wellformed.h"

namespace weft::cost {
namespace {

// Steps of all ranks together, of all rounds, that are written out: a second's work and some
// hundred megabytes.
constexpr std::size_t kMostSteps = 1 << 20;
constexpr int kSamples = 12;

std::size_t steps_of(const Program& program) {
  std::size_t steps = 0;
  for (const Section& section : program)
    steps += section.steps.size() * static_cast<std::size_t>(section.rounds);
  return steps;
}

// Ranks to look at, of all places of a unit.
std::vector<int> samples_of(int ranks, int unit) {
  const int units = ranks / unit;
  std::set<int> found = {1, 2, 3, units / 2, units - 2, units - 1};
  // Spread without a pattern that an algorithm could share.
  for (int i = 1; i <= kSamples; ++i)
    found.insert(static_cast<int>(static_cast<long long>(i) * 2654435761LL % units));
  std::vector<int> ranks_of;
  for (int number : found)
    for (int place = 0; place < unit && number < units; ++place)
      ranks_of.push_back(number * unit + place);
  return ranks_of;
}

// What may hold of `ranks`: ranks alike, or those at the same place of nodes; all, or all but
// where the root is.
std::vector<Renumber> foldings(int ranks, const Params& params) {
  const auto given = params.find("node");
  const int node = given == params.end() ? 1 : given->second.number();
  const bool even = node > 1 && node < ranks && ranks % node == 0;
  std::vector<Renumber> all = {{ranks, even ? node : 1, 1, 0}, {ranks, even ? node : 1, 1, 1}};
  if (even)
    for (int first : {0, 1}) all.emplace_back(ranks, node, node, first);
  return all;
}

const Plan& checked(const Plan& plan) {
  verifier::refuse_malformed(plan);
  return plan;
}

}  // namespace

Programs::Programs(const Plan& plan)
    : shape_(checked(plan).shape), renumber_(plan.shape.ranks, 1, plan.shape.ranks, 0) {
  for (const Program& program : plan.programs)
    programs_.push_back(std::shared_ptr<const Program>(std::shared_ptr<void>(), &program));
}

Programs::Programs(const Algorithm& algorithm, int ranks, const Params& params)
    : renumber_(ranks, 1, ranks, 0) {
  const auto write = [&](int rank) {
    return make_rank_plan(algorithm, rank, ranks, params).program;
  };
  shape_ = make_rank_plan(algorithm, 0, ranks, params).shape;
  const std::size_t most = std::max(steps_of(write(0)), steps_of(write(std::min(1, ranks - 1))));
  if (most * static_cast<std::size_t>(ranks) > kMostSteps)
    for (const Renumber& renumber : foldings(ranks, shape_.params))
      if (folds(renumber, write)) return;
  for (int rank = 0; rank < ranks; ++rank)
    programs_.push_back(std::make_shared<const Program>(write(rank)));
}

// Whether all ranks' programs follow from the bases' by `renumber`; then they are kept so.
bool Programs::folds(const Renumber& renumber, const Write& write) {
  if (renumber.bases() >= shape_.ranks) return false;
  for (int rank = 0; rank < renumber.bases(); ++rank)
    programs_.push_back(std::make_shared<const Program>(write(rank)));
  if (follow(renumber, write)) {
    renumber_ = renumber;
    return true;
  }
  programs_.clear();
  rules_.clear();
  return false;
}

bool Programs::follow(const Renumber& renumber, const Write& write) {
  for (const auto& program : programs_) rules_.push_back(all_rules(*program));
  for (int rank : samples_of(shape_.ranks, renumber.unit())) {
    if (rank < renumber.bases()) continue;
    const auto base = static_cast<std::size_t>(renumber.base(rank));
    if (!narrow(rules_[base], renumber, rank, *programs_[base], write(rank))) return false;
  }
  for (Rules& rules : rules_)
    for (std::vector<std::uint8_t>& section : rules)
      for (std::uint8_t& rule : section) rule = static_cast<std::uint8_t>(std::countr_zero(rule));
  return true;
}

}  // namespace weft::cost

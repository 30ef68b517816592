// All ranks' programs. If there would be too many steps, only some ranks' programs are written. The
// others follow from them by rules (renumber.h).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "passes/cost/alike.h"
#include "passes/cost/renumber.h"
#include "weft/algorithm.h"

namespace weft::cost {

class Programs {
 public:
  // Of a plan, which outlives this. Throws InvalidPlan if it is not well formed.
  explicit Programs(const Plan& plan);
  // Throws as make_rank_plan does.
  Programs(const Algorithm& algorithm, int ranks, const Params& params);

  const PlanShape& shape() const { return shape_; }
  // Whether programs stand for several ranks: blocks have to be equally long then.
  bool folded() const { return renumber_.bases() < shape_.ranks; }
  // What tells programs apart: 0 .. count() - 1.
  int number(int rank) const { return renumber_.base(rank); }
  int count() const { return static_cast<int>(programs_.size()); }
  const Program& program(int number) const { return *programs_[static_cast<std::size_t>(number)]; }
  // Whom `peer` in that step of a rank's program stands for.
  int peer(int rank, std::size_t section, std::size_t step, int peer) const {
    if (rank < renumber_.bases()) return peer;
    const Rules& rules = rules_[static_cast<std::size_t>(number(rank))];
    return renumber_(static_cast<Rule>(rules[section][step]), rank, peer);
  }

 private:
  using Write = std::function<Program(int rank)>;
  bool folds(const Renumber& renumber, const Write& write);
  bool follow(const Renumber& renumber, const Write& write);

  PlanShape shape_;
  std::vector<std::shared_ptr<const Program>> programs_;  // by number
  Renumber renumber_;
  std::vector<Rules> rules_;  // by number: the rule of each step
};

}  // namespace weft::cost

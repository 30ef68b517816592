// All ranks' programs. Where there would be too many steps, only some ranks' are written: an
// algorithm whose ranks all do alike is then one program and a rule for the others' numbers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/builder.h"

namespace weft::cost {

// How a rank's program follows from a base rank's: which rank stands where the base has `peer`.
using Renumber = std::function<int(int rank, int peer)>;

class Programs {
 public:
  // Of a plan, which outlives this.
  explicit Programs(const Plan& plan);
  // Throws as make_rank_plan does.
  Programs(const Algorithm& algorithm, int ranks, const Params& params);

  const PlanShape& shape() const { return shape_; }
  // What tells programs apart: 0 .. count() - 1.
  int number(int rank) const;
  int count() const { return static_cast<int>(programs_.size()); }
  const Program& program(int number) const { return *programs_[static_cast<std::size_t>(number)]; }
  // The rank that `peer` in a rank's program stands for.
  int peer(int rank, int peer) const { return renumber_ ? renumber_(rank, peer) : peer; }

 private:
  // Ranks 0 .. first - 1 have programs of their own, the others that of rank `first`.
  struct Rule {
    int first;
    Renumber renumber;
  };
  static std::vector<Rule> rules(int ranks, const Params& params);
  bool follows(const Rule& rule, const std::function<RankPlan(int)>& write) const;

  PlanShape shape_;
  std::vector<std::shared_ptr<const Program>> programs_;
  Renumber renumber_;
};

}  // namespace weft::cost

// Plans with one thing changed, of every kind that a plan can have changed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/plan.h"

namespace weft::mutants {

// Numbers that look random and are the same in every run (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // 0 .. n-1, of at least one.
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }

 private:
  std::uint64_t state_;
};

struct Kind {
  const char* name;
  // Changes one place that the dice choose. It may leave the plan as it was, where there is
  // nothing of the kind.
  std::function<void(Plan&, Dice&)> change;
};

const std::vector<Kind>& kinds();

}  // namespace weft::mutants

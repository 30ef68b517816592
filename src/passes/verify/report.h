// Collects what is found, without repeating it for every size.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "weft/verify.h"

namespace weft::verifier {

// A rank's position in a plan. `step` is the number of a step in its section, or one of these.
struct RankPosition {
  static constexpr int kStart = -1;
  static constexpr int kEnd = -2;
  int rank = 0;
  int run = 0;  // plan of a sequence
  int section = 0;
  int round = 0;
  std::size_t trip = 0;
  int step = kStart;
};

// "section 1, round 2, trip 0: reduce ..."
std::string describe(const Plan& plan, const RankPosition& position);

// The same fault of one rank at one step is kept once, whatever the trip and the size: the
// first that shows it is the smallest. Not thread safe.
class Findings {
 public:
  void begin(const std::string& scenario);
  void add(Fault fault, const Plan& plan, const RankPosition& position, const std::string& text);
  // True once this scenario has shown enough; what follows is mostly its consequence.
  bool enough() const { return in_scenario_ >= kInScenario; }
  // True once nothing more is kept.
  bool full() const { return found_.size() >= kInAll; }
  bool any() const { return !found_.empty(); }
  std::vector<Finding> take() { return std::move(found_); }

 private:
  static constexpr int kInScenario = 4;
  static constexpr std::size_t kInAll = 24;

  std::string scenario_;
  int in_scenario_ = 0;
  std::set<std::tuple<Fault, int, int, int, int, int>> seen_;
  std::vector<Finding> found_;
};

}  // namespace weft::verifier

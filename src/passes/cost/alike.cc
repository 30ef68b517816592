#include "passes/cost/alike.h"

#include <algorithm>
#include <cstddef>

namespace weft::cost {
namespace {

class Pair {
 public:
  Pair(const Renumber& renumber, int rank) : renumber_(renumber), rank_(rank) {}

  // Those of `rules` that lead from a to b in all rounds.
  std::uint8_t leading(std::uint8_t rules, const Step& a, const Step& b, int rounds) const {
    if (!same_kind(a, b)) return 0;
    const std::vector<Named> from = named(a, renumber_.base(rank_), rounds);
    const std::vector<Named> to = named(b, rank_, rounds);
    for (int i = 0; i < kRules; ++i) {
      const auto maps = [&](const Named& x, const Named& y) {
        return x.kind == y.kind && follows(static_cast<Rule>(i), *x.rank, *y.rank, rounds);
      };
      if (rules >> i & 1 && !std::equal(from.begin(), from.end(), to.begin(), to.end(), maps))
        rules = static_cast<std::uint8_t>(rules & ~(1 << i));
    }
    return rules;
  }

 private:
  // A rank that a step names, and as what.
  struct Named {
    const Index* rank;
    int kind;
  };

  static bool same_kind(const Step& a, const Step& b) {
    return a.verb == b.verb && a.channel == b.channel && a.lag == b.lag && a.last == b.last &&
           a.extent.buffer == b.extent.buffer && a.extent.blocks == b.extent.blocks;
  }

  // All of a step's ranks. A sum's own terms stand first: among the others' they stand elsewhere
  // on each rank, which takes no other time.
  static std::vector<Named> named(const Step& step, int rank, int rounds) {
    const auto named = [](const Operand& operand, int side) {
      return Named{&operand.rank,
                   (side << 16) + (static_cast<int>(operand.buffer) << 8) + operand.channel};
    };
    std::vector<Named> found, own;
    for (const Operand& operand : step.src) {
      const bool always = operand.rank.at(0) == rank && operand.rank.at(rounds - 1) == rank;
      (always ? own : found).push_back(named(operand, 0));
    }
    found.insert(found.begin(), own.begin(), own.end());
    for (const Operand& operand : step.dst) found.push_back(named(operand, 1));
    for (const Index& peer : step.peers) found.push_back({&peer, 2 << 16});
    return found;
  }

  bool follows(Rule rule, const Index& a, const Index& b, int rounds) const {
    for (int round = 0; round < rounds; ++round)
      if (renumber_(rule, rank_, a.at(round)) != b.at(round)) return false;
    return true;
  }

  const Renumber& renumber_;
  int rank_;
};

}  // namespace

Rules all_rules(const Program& base) {
  Rules rules;
  for (const Section& section : base) rules.emplace_back(section.steps.size(), 0xFF);
  return rules;
}

bool narrow(Rules& rules, const Renumber& renumber, int rank, const Program& base,
            const Program& other) {
  if (base.size() != other.size()) return false;
  const Pair pair(renumber, rank);
  for (std::size_t s = 0; s < base.size(); ++s) {
    const Section &a = base[s], &b = other[s];
    if (a.rounds != b.rounds || a.chunked != b.chunked || a.steps.size() != b.steps.size())
      return false;
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
      rules[s][i] = pair.leading(rules[s][i], a.steps[i], b.steps[i], a.rounds);
      if (rules[s][i] == 0) return false;
    }
  }
  return true;
}

}  // namespace weft::cost

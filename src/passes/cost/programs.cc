#include "passes/cost/programs.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "weft/error.h"

namespace weft::cost {
namespace {

// Steps of all ranks together that are written out: a second's work and some hundred megabytes.
constexpr std::size_t kMostSteps = 1 << 20;
constexpr int kSamples = 12;

std::size_t steps_of(const Program& program) {
  std::size_t steps = 0;
  for (const Section& section : program) steps += section.steps.size();
  return steps;
}

// Whether two steps are one and the same but for blocks and for ranks, which the rule maps.
class Alike {
 public:
  Alike(int rank, const Renumber& renumber) : rank_(rank), renumber_(renumber) {}

  bool operator()(const Program& base, const Program& other) const {
    return std::equal(base.begin(), base.end(), other.begin(), other.end(),
                      [&](const Section& a, const Section& b) { return sections(a, b); });
  }

 private:
  bool sections(const Section& a, const Section& b) const {
    if (a.rounds != b.rounds || a.chunked != b.chunked) return false;
    auto alike = [&](const Step& x, const Step& y) { return steps(x, y, a.rounds); };
    return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), alike);
  }

  bool steps(const Step& a, const Step& b, int rounds) const {
    if (a.verb != b.verb || a.channel != b.channel || a.lag != b.lag || a.last != b.last ||
        a.extent.buffer != b.extent.buffer || a.extent.blocks != b.extent.blocks)
      return false;
    auto indexes = [&](const Index& x, const Index& y) { return maps(x, y, rounds); };
    auto operands = [&](const Operand& x, const Operand& y) {
      return x.buffer == y.buffer && x.channel == y.channel && maps(x.rank, y.rank, rounds);
    };
    return std::equal(a.peers.begin(), a.peers.end(), b.peers.begin(), b.peers.end(), indexes) &&
           std::equal(a.dst.begin(), a.dst.end(), b.dst.begin(), b.dst.end(), operands) &&
           std::equal(a.src.begin(), a.src.end(), b.src.begin(), b.src.end(), operands);
  }

  bool maps(const Index& a, const Index& b, int rounds) const {
    for (int round = 0; round < rounds; ++round)
      if (renumber_(rank_, a.at(round)) != b.at(round)) return false;
    return true;
  }

  int rank_;
  const Renumber& renumber_;
};

}  // namespace

Programs::Programs(const Plan& plan) : shape_(plan.shape) {
  for (const Program& program : plan.programs)
    programs_.push_back(std::shared_ptr<const Program>(std::shared_ptr<void>(), &program));
}

Programs::Programs(const Algorithm& algorithm, int ranks, const Params& params) {
  const auto write = [&](int rank) { return make_rank_plan(algorithm, rank, ranks, params); };
  const auto keep = [&](RankPlan plan) {
    programs_.push_back(std::make_shared<const Program>(std::move(plan.program)));
  };
  RankPlan first = write(0);
  shape_ = first.shape;
  keep(std::move(first));
  if (ranks == 1) return;
  RankPlan second = write(1);
  const std::size_t most = std::max(steps_of(*programs_[0]), steps_of(second.program));
  keep(std::move(second));
  if (most * static_cast<std::size_t>(ranks) > kMostSteps)
    for (const Rule& rule : rules(ranks, shape_.params))
      if (follows(rule, write)) {
        renumber_ = rule.renumber;
        programs_.resize(static_cast<std::size_t>(rule.first) + 1);
        return;
      }
  for (int rank = 2; rank < ranks; ++rank) keep(write(rank));
}

int Programs::number(int rank) const { return std::min(rank, count() - 1); }

std::vector<Programs::Rule> Programs::rules(int ranks, const Params& params) {
  const auto turned = [](int value, int modulus) { return value % modulus; };
  std::vector<Rule> rules;
  rules.push_back({0, [=](int rank, int peer) { return turned(peer + rank, ranks); }});
  rules.push_back({0, [=](int rank, int peer) { return peer ^ rank; }});
  // Rank 0 is a root; the others are alike among themselves.
  rules.push_back({1, [=](int rank, int peer) {
                     return rank == 0 || peer == 0 ? peer : 1 + turned(peer + rank - 2, ranks - 1);
                   }});
  auto node = params.find("node");
  if (node != params.end() && node->second > 0 && ranks % node->second == 0) {
    const int size = node->second, nodes = ranks / size;
    rules.push_back({0, [=](int rank, int peer) {
                       return turned(peer / size + rank / size, nodes) * size +
                              turned(peer % size + rank % size, size);
                     }});
  }
  return rules;
}

bool Programs::follows(const Rule& rule, const std::function<RankPlan(int)>& write) const {
  const int ranks = shape_.ranks;
  std::set<int> samples = {1, 2, 3, ranks / 2, ranks - 2, ranks - 1};
  // Spread without a pattern that an algorithm could share.
  for (int i = 1; static_cast<int>(samples.size()) < kSamples; ++i)
    samples.insert(static_cast<int>(static_cast<long long>(i) * 2654435761LL % ranks));
  for (int rank : samples) {
    if (rank <= rule.first) continue;
    if (!Alike(rank, rule.renumber)(*programs_[static_cast<std::size_t>(rule.first)],
                                    write(rank).program))
      return false;
  }
  return true;
}

}  // namespace weft::cost

// Every built-in algorithm: proved for many ranks, and its plan for four ranks as text.
//
// A new algorithm needs a row in kRows. WEFT_UPDATE_GOLDEN=1 writes tests/plan/golden anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "passes/verify/scenario.h"
#include "passes/verify/sequence.h"
#include "weft/error.h"
#include "weft/registry.h"
#include "weft/verify.h"

namespace weft {
namespace {

// When f16 and bf16 partial sums are rounded on the way.
enum class Rounds { kNever, kFromThreeRanks };

struct Row {
  const char* name;
  std::vector<Params> params = {{}};  // proved with each of these, where it does not refuse
  Rounds rounds = Rounds::kNever;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// Where ranks may lie: regular, uneven, in any order.
const std::vector<Params> kNodes = {{},
                                    {{"node", 1}},
                                    {{"node", 2}},
                                    {{"node", 5}},
                                    {{"node", 8}},
                                    {{"place", std::vector{0, 1, 0, 1, 0}}},
                                    {{"place", std::vector{2, 1, 1, 0, 1, 1, 1, 1}}}};

// The same for those that need the ranks of a node in order.
const std::vector<Params> kInOrder = {{},
                                      {{"node", 1}},
                                      {{"node", 2}},
                                      {{"node", 3}},
                                      {{"node", 5}},
                                      {{"node", 8}},
                                      {{"place", std::vector{1, 1, 1, 0, 2}}},
                                      {{"place", std::vector{2, 0, 0, 0, 1, 1, 1, 1}}}};

const std::vector<Params> kAhead = {{}, {{"ahead", 2}}, {{"ahead", 7}}};

const std::vector<Row> kRows = {
    {"allreduce/one_shot"},
    {"allreduce/two_shot", kAhead},
    {"allreduce/ring"},
    {"allreduce/recursive_doubling"},
    {"allreduce/rabenseifner", {{}}, Rounds::kFromThreeRanks},
    {"allreduce/two_level", kNodes},
    {"allreduce/multi_leader",
     {{},
      {{"node", 2}, {"outer", "rabenseifner"}},
      {{"node", 1}, {"outer", "rabenseifner"}},
      {{"node", 2}, {"leaders", 1}, {"inner", "direct"}, {"outer", "recursive_doubling"}},
      {{"node", 4}, {"leaders", 1}, {"inner", "rabenseifner"}, {"outer", "direct"}},
      {{"node", 2}, {"pieces", 3}, {"outer", "rabenseifner"}},
      {{"node", 3}, {"pieces", 2}, {"leaders", 2}},
      {{"place", std::vector{0, 1, 0, 1, 0}}, {"outer", "direct"}},
      {{"place", std::vector{2, 1, 1, 0, 1, 1, 1, 1}}, {"pieces", 3}}},
     Rounds::kFromThreeRanks},
    {"allreduce/tree_levels", {{}, {{"node", 4}}, {{"node", 8}}}},
    {"allreduce/direct"},
    {"broadcast/one_shot"},
    {"broadcast/knomial", {{}, {{"radix", 3}}, {{"radix", 4}}, {{"radix", 16}}}},
    {"broadcast/knomial_staged", {{}, {{"radix", 3}}}},
    {"broadcast/chain", {{}, {{"order", std::vector{2, 0, 3, 1}}}}},
    {"broadcast/chain_walk", {{}, {{"tree", std::vector{5, 4, 5, 4, 6, 6, -1}}}}},
    {"broadcast/chain_reversed", {{}, {{"node", 3}}}},
    {"broadcast/scatter_allgather"},
    {"broadcast/scatter_ring"},
    {"broadcast/two_level",
     {{},
      {{"node", 3}, {"inner", "knomial"}, {"outer", "chain"}, {"radix", 3}},
      {{"node", 2}, {"overlap", 0}},
      {{"node", 4}, {"overlap", 0}, {"inner", "knomial"}},
      {{"place", std::vector{0, 1, 0, 1, 0}}, {"inner", "direct"}}}},
    {"reduce/direct"},
    {"reduce/binomial"},
    {"reduce/two_level",
     {{},
      {{"node", 2}, {"outer", "chain"}},
      {{"node", 5}, {"leaders", 1}, {"radix", 3}},
      {{"node", 8}},
      {{"node", 1}, {"leaders", 3}},
      {{"place", std::vector{0, 1, 0, 1, 0}}},
      {{"place", std::vector{2, 1, 1, 0, 1, 1, 1, 1}}, {"leaders", 6}}}},
    {"allgather/direct", kAhead},
    {"allgather/ring"},
    {"allgather/two_level", kNodes},
    {"reduce_scatter/direct", kAhead},
    {"reduce_scatter/ring"},
    {"reduce_scatter/two_level", kNodes},
    {"alltoall/direct", kAhead},
    {"alltoall/pairwise"},
    {"alltoall/staged"},
    {"alltoall/two_level", kInOrder},
    {"gather/direct"},
    {"scatter/direct"},
    {"barrier/dissemination"},
    {"barrier/two_level", kNodes},
    {"sendrecv/stream"},
};

class AlgorithmTest : public testing::TestWithParam<Row> {
 protected:
  Algorithm algorithm() const { return find_algorithm(GetParam().name); }

  bool rooted() const {
    auto kind = algorithm().collective;
    return kind == Collective::kBroadcast || kind == Collective::kReduce ||
           kind == Collective::kGather || kind == Collective::kScatter;
  }

  // All roots of a few ranks, the last and a middle one of many.
  std::vector<Params> with_roots(const Params& params, int ranks) const {
    if (!rooted()) return {params};
    std::set<int> roots = {ranks / 2, ranks - 1};
    if (ranks <= 5)
      for (int root = 0; root < ranks; ++root) roots.insert(root);
    std::vector<Params> all;
    for (int root : roots) {
      all.push_back(params);
      all.back()["root"] = root;
    }
    return all;
  }

  void prove(int ranks, const Params& params) const {
    Plan plan = make_plan(GetParam().name, ranks, params);
    SCOPED_TRACE(to_text(plan).substr(0, 200));
    VerifyReport report = verify(plan, {trips(plan), algorithm().claims});
    ASSERT_TRUE(report.ok()) << to_text(report);
    EXPECT_GT(report.scenarios, 0);
    bool rounds = GetParam().rounds == Rounds::kFromThreeRanks && ranks >= 3;
    EXPECT_EQ(report.rounds_partials, rounds);
  }

  // All that the verifier asks for up to eight ranks. Beyond, twice around the mailboxes: direct
  // algorithms use three slots a destination by default, so that this is also twice around these.
  static int trips(const Plan& plan) {
    int enough = verifier::enough_trips(plan);
    return plan.shape.ranks <= 8 ? enough : std::min(enough, 2 * kMailboxDepth + 1);
  }

  void prove_all(int first, int last) const {
    for (int ranks = first; ranks <= last; ++ranks)
      for (const Params& params : GetParam().params)
        if (refusal(algorithm(), ranks, params).empty())
          for (const Params& rooted : with_roots(params, ranks)) prove(ranks, rooted);
  }
};

TEST_P(AlgorithmTest, IsProvedForFewRanks) { prove_all(1, 5); }
TEST_P(AlgorithmTest, IsProvedForEightRanks) { prove_all(6, 8); }
TEST_P(AlgorithmTest, IsProvedForManyRanks) { prove_all(9, 17); }

// So the proof looks at every step, and no plan does more than it must.
TEST_P(AlgorithmTest, NeedsEachOfItsSteps) {
  const Plan whole = make_plan(GetParam().name, refusal(algorithm(), 4, {}).empty() ? 4 : 2);
  for (std::size_t rank = 0; rank < whole.programs.size(); ++rank) {
    for (std::size_t section = 0; section < whole.programs[rank].size(); ++section) {
      for (std::size_t i = 0; i < whole.programs[rank][section].steps.size(); ++i) {
        Plan plan = whole;
        auto& steps = plan.programs[rank][section].steps;
        std::string text = to_text(steps[i]);
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(verify(plan, {3}).ok()) << "rank " << rank << " without " << text;
      }
    }
  }
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_P(AlgorithmTest, ReadsAsItsGoldenText) {
  int ranks = refusal(algorithm(), 4, {}).empty() ? 4 : 2;
  Plan plan = make_plan(GetParam().name, ranks);
  std::string file = GetParam().name;
  file.replace(file.find('/'), 1, "_");
  auto path = std::filesystem::path(WEFT_GOLDEN) / (file + ".txt");
  if (std::getenv("WEFT_UPDATE_GOLDEN")) std::ofstream(path) << to_text(plan);
  EXPECT_EQ(to_text(plan), read(path)) << "WEFT_UPDATE_GOLDEN=1 accepts the new text";
  EXPECT_EQ(parse_plan(read(path)), plan);
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest, testing::ValuesIn(kRows), [](const auto& info) {
  std::string name = info.param.name;
  name.replace(name.find('/'), 1, "_");
  return name;
});

TEST(Algorithms, RefuseToBeFartherAheadThanMailboxesHold) {
  for (const char* name :
       {"allreduce/two_shot", "allgather/direct", "reduce_scatter/direct", "alltoall/direct"}) {
    for (const int ahead : {-1, 0, kMailboxDepth})
      EXPECT_EQ(refusal(find_algorithm(name), 2, {{"ahead", ahead}}),
                "ahead = " + std::to_string(ahead) + ": give 1 to 7")
          << name;
    EXPECT_EQ(refusal(find_algorithm(name), 2, {{"ahead", kMailboxDepth - 1}}), "") << name;
  }
}

// A plan for each algorithm that serves `ranks`, with the given root where it has one.
std::vector<Plan> all_plans(int ranks, int root) {
  std::vector<Plan> plans;
  for (const Row& row : kRows) {
    Algorithm algorithm = find_algorithm(row.name);
    if (!refusal(algorithm, ranks, {}).empty()) continue;
    plans.push_back(make_plan(row.name, ranks));
    if (plans.back().shape.params.contains("root"))
      plans.back() = make_plan(row.name, ranks, {{"root", root}});
  }
  return plans;
}

// The lane's contract between any two, with no barrier in between and one rank ahead.
TEST(Algorithms, AnyMayFollowAnyOther) {
  for (int ranks : {2, 3, 4, 5}) {
    auto firsts = all_plans(ranks, 0), seconds = all_plans(ranks, ranks - 1);
    for (const Plan& first : firsts) {
      for (const Plan& second : seconds) {
        SCOPED_TRACE(first.shape.algorithm + ", then " + second.shape.algorithm);
        VerifyReport report = verifier::verify_sequence({first, second, first}, {3});
        ASSERT_TRUE(report.ok()) << to_text(report);
      }
    }
  }
}

TEST(Registry, EveryBuiltInHasARow) {
  std::vector<std::string> rows;
  for (const Row& row : kRows) rows.push_back(row.name);
  EXPECT_EQ(rows, builtin_algorithm_names());
}

// So selection has one for each collective that reduces, for any number of ranks.
TEST(Algorithms, TheseAreReproducible) {
  std::set<std::string> names;
  for (const std::string& name : builtin_algorithm_names())
    if (find_algorithm(name).claims.reproducible) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"allreduce/direct", "allreduce/one_shot",
                                          "allreduce/tree_levels", "allreduce/two_shot",
                                          "reduce/direct", "reduce_scatter/direct"}));
}

// A block is overwritten in place before it is read, unless it is staged.
TEST(Algorithms, AlltoallInPlaceIsProvedWhereItIsClaimed) {
  for (int ranks : {2, 3, 4, 5, 8}) {
    for (const char* name : {"alltoall/direct", "alltoall/pairwise", "alltoall/two_level"}) {
      Plan plan = make_plan(name, ranks);
      EXPECT_FALSE(plan.shape.in_place) << name;
      plan.shape.in_place = true;
      VerifyReport report = verify(plan, {3});
      ASSERT_FALSE(report.ok()) << name << " for " << ranks;
      const Fault fault = report.findings[0].fault;
      EXPECT_TRUE(fault == Fault::kPutSource || fault == Fault::kWrongResult) << to_text(report);
    }
    Plan plan = make_plan("alltoall/staged", ranks);
    EXPECT_TRUE(plan.shape.in_place);
    const VerifyReport proved = verify(plan, {3});
    EXPECT_TRUE(proved.ok()) << to_text(proved);
    plan.shape.in_place = false;
    EXPECT_GT(proved.scenarios, verify(plan, {3}).scenarios);
  }
}

// Across nodes in half the bytes, for one more rounding a node of several ranks.
TEST(Algorithms, NarrowSumsOfNodesAreRounded) {
  for (const char* name : {"allreduce/two_level", "reduce_scatter/two_level"})
    for (int node : {1, 2})
      for (int wide : {0, 1}) {
        VerifyReport report = verify(make_plan(name, 4, {{"node", node}, {"wide", wide}}), {3});
        EXPECT_TRUE(report.ok()) << to_text(report);
        EXPECT_EQ(report.rounds_partials, node > 1 && wide == 0) << name << " of " << node;
      }
}

// On the wire float32 is rounded once, and an allreduce's result once more; not in a node.
TEST(Algorithms, WhatCrossesNodesIsRoundedForTheWire) {
  const std::vector<Params> places = {
      {{"node", 1}}, {{"node", 2}}, {{"place", std::vector{0, 1, 1, 2}}}, {{"node", 4}}};
  for (const char* name : {"allreduce/two_level", "reduce_scatter/two_level"})
    for (Params params : places) {
      const int crossings = params == places.back() ? 0 : name[0] == 'a' ? 2 : 1;
      params["wire"] = 1;
      VerifyReport report = verify(make_plan(name, 4, params), {3, find_algorithm(name).claims});
      EXPECT_TRUE(report.ok()) << to_text(report);
      EXPECT_EQ(report.narrowings, crossings) << name;
    }
}

// DDP, FSDP and every data-parallel program rest on it.
TEST(Algorithms, EveryAllreduceGivesAllRanksTheSameBits) {
  for (const std::string& name : builtin_algorithm_names()) {
    Algorithm algorithm = find_algorithm(name);
    EXPECT_TRUE(algorithm.claims.consistent || algorithm.collective != Collective::kAllreduce)
        << name;
  }
}

}  // namespace
}  // namespace weft

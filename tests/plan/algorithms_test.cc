// Every built-in algorithm: proved for many ranks, and its plan for four ranks as text.
//
// A new algorithm needs a row in kRows. WEFT_UPDATE_GOLDEN=1 writes tests/plan/golden anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/registry.h"
#include "algorithms/trees.h"
#include "passes/verify/scenario.h"
#include "passes/verify/sequence.h"
#include "weft/builder.h"
#include "weft/error.h"
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

const std::vector<Row> kRows = {
    {"allreduce/one_shot"},
    {"allreduce/two_shot"},
    {"allreduce/ring"},
    {"allreduce/recursive_doubling"},
    {"allreduce/rabenseifner", {{}}, Rounds::kFromThreeRanks},
    {"allreduce/two_level", {{}, {{"node", 1}}, {{"node", 2}}, {{"node", 5}}, {{"node", 8}}}},
    {"allreduce/multi_leader",
     {{},
      {{"node", 2}, {"outer", "rabenseifner"}},
      {{"node", 1}, {"outer", "rabenseifner"}},
      {{"node", 2}, {"leaders", 1}, {"inner", "direct"}, {"outer", "recursive_doubling"}},
      {{"node", 4}, {"leaders", 1}, {"inner", "rabenseifner"}, {"outer", "direct"}},
      {{"node", 2}, {"pieces", 3}, {"outer", "rabenseifner"}},
      {{"node", 3}, {"pieces", 2}, {"leaders", 2}}},
     Rounds::kFromThreeRanks},
    {"allreduce/direct"},
    {"broadcast/one_shot"},
    {"broadcast/knomial", {{}, {{"radix", 3}}, {{"radix", 4}}, {{"radix", 16}}}},
    {"broadcast/knomial_staged", {{}, {{"radix", 3}}}},
    {"broadcast/chain", {{}, {{"order", std::vector{2, 0, 3, 1}}}}},
    {"broadcast/chain_walk", {{}, {{"tree", std::vector{5, 4, 5, 4, 6, 6, -1}}}}},
    {"broadcast/chain_reversed", {{}, {{"node", 3}}}},
    {"broadcast/scatter_allgather"},
    {"reduce/direct"},
    {"reduce/binomial"},
    {"allgather/direct"},
    {"allgather/ring"},
    {"reduce_scatter/direct"},
    {"reduce_scatter/ring"},
    {"alltoall/direct"},
    {"alltoall/pairwise"},
    {"gather/direct"},
    {"scatter/direct"},
    {"barrier/dissemination"},
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
  // algorithms use three slots a destination, so that this is also twice around their slots.
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
  auto path = std::filesystem::path(__FILE__).parent_path() / "golden" / (file + ".txt");
  if (std::getenv("WEFT_UPDATE_GOLDEN")) std::ofstream(path) << to_text(plan);
  EXPECT_EQ(to_text(plan), read(path)) << "WEFT_UPDATE_GOLDEN=1 accepts the new text";
  EXPECT_EQ(parse_plan(read(path)), plan);
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest, testing::ValuesIn(kRows), [](const auto& info) {
  std::string name = info.param.name;
  name.replace(name.find('/'), 1, "_");
  return name;
});

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

TEST(Registry, NamesAndSummariesAreWhole) {
  for (const std::string& name : builtin_algorithm_names()) {
    Algorithm algorithm = find_algorithm(name);
    // The plan of a transfer is named after the pattern.
    std::string prefix(
        algorithm.collective == Collective::kSendRecv ? "sendrecv" : name_of(algorithm.collective));
    EXPECT_TRUE(name.starts_with(prefix + "/")) << name;
    EXPECT_FALSE(algorithm.summary.empty()) << name;
  }
}

TEST(Registry, FindsByFullNameOrByWhatIsUnique) {
  EXPECT_EQ(find_algorithm("allreduce/ring").name, "allreduce/ring");
  EXPECT_EQ(find_algorithm("two_shot").name, "allreduce/two_shot");
  EXPECT_EQ(find_algorithm("ring", Collective::kAllgather).name, "allgather/ring");
  EXPECT_THROW(find_algorithm("broadcast/chain", Collective::kAllreduce), InvalidArgument);
  EXPECT_THROW(find_algorithm("ring"), InvalidArgument);
  EXPECT_THROW(find_algorithm("allreduce/rign"), InvalidArgument);
  EXPECT_THROW(find_algorithm(""), InvalidArgument);
}

TEST(Registry, FindsByTheNamesOfPapers) {
  const struct {
    const char *alias, *name;
    Params params;
  } rows[] = {{"lr", "allreduce/ring", {}},
              {"lr_lr", "allreduce/multi_leader", {{"inner", "ring"}, {"outer", "ring"}}},
              {"lr_rab", "allreduce/multi_leader", {{"inner", "ring"}, {"outer", "rabenseifner"}}},
              {"pc", "broadcast/chain", {}},
              {"ta_pc", "broadcast/chain_walk", {}}};
  for (const auto& row : rows) {
    Plan plan = make_plan(row.alias, 4);
    EXPECT_EQ(plan, make_plan(row.name, 4, row.params));
    for (const auto& [name, value] : row.params) EXPECT_EQ(plan.shape.params.at(name), value);
    EXPECT_EQ(find_algorithm(row.alias).name, row.name);
    EXPECT_EQ(find_algorithm(row.alias, find_algorithm(row.name).collective).name, row.name);
    EXPECT_THROW(find_algorithm(row.alias, Collective::kBarrier), InvalidArgument);
  }
}

TEST(Registry, AliasesAreUniqueAndNobodysName) {
  std::set<std::string> seen;
  for (const std::string& name : builtin_algorithm_names())
    seen.insert(name.substr(name.find('/') + 1));
  for (const std::string& name : builtin_algorithm_names())
    for (const Alias& alias : find_algorithm(name).aliases)
      EXPECT_TRUE(seen.insert(alias.name).second) << alias.name;
}

// DDP, FSDP and every data-parallel program rest on it.
// So selection has one for each collective that reduces, for any number of ranks.
TEST(Algorithms, TheseAreReproducible) {
  std::set<std::string> names;
  for (const std::string& name : builtin_algorithm_names())
    if (find_algorithm(name).claims.reproducible) names.insert(name);
  EXPECT_EQ(names,
            (std::set<std::string>{"allreduce/direct", "allreduce/one_shot", "allreduce/two_shot",
                                   "reduce/direct", "reduce_scatter/direct"}));
}

TEST(Algorithms, EveryAllreduceGivesAllRanksTheSameBits) {
  for (const std::string& name : builtin_algorithm_names()) {
    Algorithm algorithm = find_algorithm(name);
    EXPECT_TRUE(algorithm.claims.consistent || algorithm.collective != Collective::kAllreduce)
        << name;
  }
}

TEST(Registry, RefusesWhatAnAlgorithmCannotServe) {
  struct {
    const char* name;
    int ranks;
    Params params;
    const char* word;  // in the message
  } const rows[] = {
      {"broadcast/chain", 4, {{"root", 4}}, "root"},
      {"broadcast/chain", 4, {{"root", -1}}, "root"},
      {"broadcast/knomial", 4, {{"radix", 1}}, "radix"},
      {"broadcast/knomial", 4, {{"radx", 2}}, "radx"},
      {"broadcast/knomial_staged", 4, {{"radix", 0}}, "radix"},
      {"broadcast/chain", 4, {{"order", std::vector{0, 1, 2}}}, "order"},
      {"broadcast/chain", 4, {{"order", std::vector{0, 1, 2, 2}}}, "order"},
      {"broadcast/chain", 4, {{"order", 1}}, "order = 1"},
      {"broadcast/chain_reversed", 4, {{"node", 0}}, "node"},
      {"broadcast/chain_walk", 4, {{"tree", std::vector{4, 4, 4}}}, "3 vertices"},
      {"broadcast/chain_walk", 4, {{"tree", std::vector{4, 4, 4, 4, 5}}}, "parent 5"},
      {"broadcast/chain_walk", 4, {{"tree", std::vector{4, 4, -1, 4, -1}}}, "2 tops"},
      {"broadcast/chain_walk", 2, {{"tree", std::vector{2, 2, -1, 4, 3}}}, "circle"},
      {"allreduce/ring", 4, {{"root", 1}}, "root"},
      {"allreduce/two_level", 6, {{"node", 4}}, "node"},
      {"allreduce/two_level", 6, {{"node", 0}}, "node"},
      {"allreduce/multi_leader", 6, {{"node", 0}}, "node"},
      {"allreduce/multi_leader", 6, {{"node", 2}, {"leaders", 3}}, "leaders"},
      {"allreduce/multi_leader", 6, {{"pieces", 0}}, "pieces"},
      {"allreduce/multi_leader", 6, {{"inner", "recursive_doubling"}}, "inner"},
      {"allreduce/multi_leader", 6, {{"outer", "rabenseifer"}}, "outer"},
      {"allreduce/multi_leader", 6, {{"outer", 3}}, "outer = 3"},
      {"sendrecv/stream", 3, {}, "2 ranks"},
      {"allreduce/ring", 0, {}, "ranks"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    try {
      make_plan(row.name, row.ranks, row.params);
      ADD_FAILURE() << "accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(row.word), std::string::npos) << error.what();
    }
  }
}

// How often a chain in this order uses the busiest direction of a link.
int busiest(const Tree& tree, const std::vector<int>& order) {
  auto way_up = [&](int vertex) {
    std::vector<int> way;
    for (; vertex >= 0; vertex = tree[static_cast<std::size_t>(vertex)]) way.push_back(vertex);
    return way;
  };
  std::map<std::pair<int, bool>, int> uses;  // (lower end, upwards)
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    auto from = way_up(order[i]), to = way_up(order[i + 1]);
    while (!from.empty() && !to.empty() && from.back() == to.back()) from.pop_back(), to.pop_back();
    for (int vertex : from) ++uses[{vertex, true}];
    for (int vertex : to) ++uses[{vertex, false}];
  }
  int most = 0;
  for (const auto& [link, count] : uses) most = std::max(most, count);
  return most;
}

// Ranks scattered over a tree of switches in which a rank may be a switch too.
TEST(Chains, AWalkUsesEachDirectionOfALinkOnce) {
  std::mt19937 random(1);
  int worse = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const int ranks = 2 + trial % 16, size = ranks + 1 + trial % 7;
    std::vector<int> number(static_cast<std::size_t>(size));
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    Tree tree(static_cast<std::size_t>(size), -1);
    for (std::size_t i = 1; i < number.size(); ++i)
      tree[static_cast<std::size_t>(number[i])] = number[random() % i];
    ASSERT_EQ(fault_of_tree(tree, ranks), "");
    std::vector<int> order = walk(tree, ranks);
    for (int root = 0; root < ranks; ++root) {
      EXPECT_EQ(busiest(tree, order), 1) << "from " << order[0];
      std::rotate(order.begin(), order.begin() + 1, order.end());
    }
    std::vector<int> natural(static_cast<std::size_t>(ranks));
    std::iota(natural.begin(), natural.end(), 0);
    worse += busiest(tree, natural) > 1;
  }
  EXPECT_GT(worse, 25);
}

TEST(Chains, AWalkLeavesAGoodOrderAlone) {
  EXPECT_EQ(walk({8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, -1}, 8),
            (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(walk({5, 4, 5, 4, 6, 6, -1}, 4), (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(walk({-1}, 1), (std::vector{0}));
}

TEST(Registry, RecordsParametersThatTookEffect) {
  EXPECT_EQ(make_plan("broadcast/knomial", 4).shape.params, (Params{{"radix", 2}, {"root", 0}}));
  EXPECT_EQ(make_plan("allreduce/two_level", 6).shape.params, (Params{{"node", 2}}));
}

// All to rank 0 in turn; `forgets`: it forgets to return the message.
Algorithm user_gather(std::string name, bool forgets) {
  return {std::move(name), Collective::kGather, "a user's", [forgets](Builder& b) {
            int root = b.param("root", 0), ch = b.channel(2);
            b.chunks([&] {
              if (b.rank() != root) return b.put(b.input(), {root}, ch);
              b.copy({b.output(root)}, b.input());
              for (int rank = 0; rank < b.ranks(); ++rank) {
                if (rank == root) continue;
                b.wait(rank, ch, b.output(rank));
                b.copy({b.output(rank)}, b.slot(rank, ch));
                if (!forgets) b.credit(rank, ch, b.output(rank));
              }
            });
          }};
}

TEST(Registry, TakesAUsersAlgorithmThatIsProved) {
  register_algorithm(user_gather("gather/users_own", false));
  auto names = algorithm_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "gather/users_own"), names.end());
  EXPECT_TRUE(verify(make_plan("users_own", 3, {{"root", 2}})).ok());
  register_algorithm(user_gather("gather/users_own", false));  // again: replaces it
  EXPECT_EQ(algorithm_names().size(), names.size());
}

TEST(Registry, MayBeUsedByManyThreads) {
  auto use = [](std::string name) {
    register_algorithm(user_gather(name, false));
    EXPECT_EQ(find_algorithm(name).name, name);
    EXPECT_FALSE(algorithm_names().empty());
  };
  std::thread other(use, "gather/of_one_thread");
  use("gather/of_another");
  other.join();
}

TEST(Registry, RefusesAUsersAlgorithmThatIsNot) {
  EXPECT_THROW(register_algorithm(user_gather("gather/forgets", true)), InvalidPlan);
  EXPECT_THROW(find_algorithm("gather/forgets"), InvalidArgument);

  Algorithm uneven = user_gather("gather/uneven", false);
  uneven.write = [](Builder& b) { b.channel(1 + b.rank()); };
  EXPECT_THROW(register_algorithm(uneven), InvalidPlan);

  Algorithm unserving = user_gather("gather/unserving", false);
  unserving.refuses = [](int, const Params&) { return std::string("never"); };
  EXPECT_THROW(register_algorithm(unserving), InvalidPlan);
}

TEST(Registry, RefusesAFalseClaim) {
  Algorithm rotated{"allreduce/rotated", Collective::kAllreduce, "from the own input on",
                    [](Builder& b) {
                      int ch = b.channel(2), me = b.rank(), ranks = b.ranks();
                      b.chunks([&] {
                        std::vector<Operand> terms = {b.input()};
                        std::vector<int> peers;
                        for (int i = 1; i < ranks; ++i) peers.push_back((me + i) % ranks);
                        if (!peers.empty()) b.copy({b.slot(ch)}, b.input());
                        if (!peers.empty()) b.signal(peers, ch, b.input());
                        for (int peer : peers) b.wait(peer, ch, b.input());
                        for (int peer : peers) terms.push_back(b.slot(peer, ch));
                        b.reduce({b.output()}, terms, Builder::kLast);
                        for (int peer : peers) b.credit(peer, ch, b.input());
                      });
                    }};
  register_algorithm(rotated);  // a right sum, with other bits on other ranks
  rotated.claims.consistent = true;
  try {
    register_algorithm(rotated);
    ADD_FAILURE() << "accepted";
  } catch (const InvalidPlan& error) {
    EXPECT_NE(std::string(error.what()).find("claim on rank 1"), std::string::npos) << error.what();
  }
}

TEST(Registry, RefusesBadNames) {
  for (const char* name :
       {"", "gather/", "gather", "allreduce/mine", "gather/my own", "gather/a/b", "gather/direct"})
    EXPECT_THROW(register_algorithm(user_gather(name, false)), InvalidArgument) << name;
}

}  // namespace
}  // namespace weft

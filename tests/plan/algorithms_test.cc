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
#include <thread>
#include <vector>

#include "algorithms/registry.h"
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
    {"allreduce/direct"},
    {"broadcast/one_shot"},
    {"broadcast/knomial", {{}, {{"radix", 3}}, {{"radix", 4}}, {{"radix", 16}}}},
    {"broadcast/chain"},
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
  } rows[] = {{"lr", "allreduce/ring"}};
  for (const auto& row : rows) {
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
    for (const std::string& alias : find_algorithm(name).aliases)
      EXPECT_TRUE(seen.insert(alias).second) << alias;
}

// DDP, FSDP and every data-parallel program rest on it.
TEST(Algorithms, EveryAllreduceGivesAllRanksTheSameBits) {
  for (const std::string& name : builtin_algorithm_names()) {
    Algorithm algorithm = find_algorithm(name);
    EXPECT_EQ(algorithm.claims.consistent, algorithm.collective == Collective::kAllreduce) << name;
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
      {"allreduce/ring", 4, {{"root", 1}}, "root"},
      {"allreduce/two_level", 6, {{"node", 4}}, "node"},
      {"allreduce/two_level", 6, {{"node", 0}}, "node"},
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

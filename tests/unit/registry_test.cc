// What algorithms are called, what they refuse, and how users add theirs.
#include "algorithms/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "weft/builder.h"
#include "weft/error.h"
#include "weft/registry.h"
#include "weft/verify.h"

namespace weft {
namespace {

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
      {"allreduce/tree_levels", 6, {{"node", 4}}, "node"},
      {"allreduce/two_level", 6, {{"place", std::vector{0, 0, 1}}}, "place"},
      {"allreduce/two_level", 2, {{"place", std::vector{0, 1}}, {"node", 1}}, "place"},
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

TEST(Registry, RecordsParametersThatTookEffect) {
  EXPECT_EQ(make_plan("broadcast/knomial", 4).shape.params, (Params{{"radix", 2}, {"root", 0}}));
  EXPECT_EQ(make_plan("allreduce/two_level", 6).shape.params,
            (Params{{"node", 2}, {"place", std::vector<int>{}}, {"wide", 1}, {"wire", 0}}));
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

// The cache of plans: what is one plan and what is not.
#include "comm/planner.h"

#include <gtest/gtest.h>

#include "weft/registry.h"

namespace weft {
namespace {

Handle handle(const char* text, Collective collective) {
  return std::make_shared<const Resolved>(resolve(parse_choice(text), collective));
}

TEST(PlanCache, APlanIsMadeOnceForAnAlgorithmItsParametersAndARank) {
  PlanCache cache;
  const auto kAllreduce = Collective::kAllreduce;
  const Handle first = handle("two_level(node=2)", kAllreduce);
  const auto plan = cache.get({first, 0, 1, 4}).plan;
  EXPECT_EQ(cache.get({first, 0, 1, 4}).plan, plan);
  // Another text that says the same; the chunk is no part of a plan.
  EXPECT_EQ(cache.get({handle("allreduce/two_level(node=2,chunk=4K)", kAllreduce), 0, 1, 4}).plan,
            plan);
  EXPECT_NE(cache.get({handle("two_level(node=1)", kAllreduce), 0, 1, 4}).plan, plan);
  EXPECT_NE(cache.get({handle("ring", kAllreduce), 0, 1, 4}).plan, plan);
  EXPECT_NE(cache.get({first, 0, 2, 4}).plan, plan);
  EXPECT_NE(cache.get({first, 0, 1, 8}).plan, plan);
  EXPECT_EQ(cache.get({first, 0, 1, 4}).plan, plan);
}

TEST(PlanCache, TheParametersAndTheRootAreThoseOfTheKey) {
  PlanCache cache;
  const Handle two = handle("multi_leader(node=2)", Collective::kAllreduce);
  const Handle four = handle("multi_leader(node=4)", Collective::kAllreduce);
  EXPECT_EQ(cache.get({two, 0, 0, 4}).plan->shape.params.at("node"), Param(2));
  EXPECT_EQ(cache.get({four, 0, 0, 4}).plan->shape.params.at("node"), Param(4));
  EXPECT_FALSE(cache.get({two, 0, 0, 4}).plan->shape.params.contains("root"));
  const Handle knomial = handle("knomial", Collective::kBroadcast);
  EXPECT_EQ(cache.get({knomial, 1, 0, 4}).plan->shape.params.at("root"), Param(1));
  EXPECT_EQ(cache.get({knomial, 2, 0, 4}).plan->shape.params.at("root"), Param(2));
}

TEST(PlanCache, AReplacedAlgorithmHasANewPlan) {
  Algorithm mine = find_algorithm("allreduce/ring");
  mine.name = "allreduce/of_planner_test";
  mine.aliases.clear();
  register_algorithm(mine);
  PlanCache cache;
  const Handle before = handle("of_planner_test", Collective::kAllreduce);
  const auto plan = cache.get({before, 0, 0, 4}).plan;
  mine.write = find_algorithm("allreduce/one_shot").write;
  register_algorithm(mine);
  const auto now = cache.get({handle("of_planner_test", Collective::kAllreduce), 0, 0, 4}).plan;
  EXPECT_NE(now->program, plan->program);
  EXPECT_EQ(cache.get({before, 0, 0, 4}).plan, plan);  // who began with it goes on with it
}

TEST(PlanCache, KnowsWhetherSomeRankWorksInAnothersBuffers) {
  PlanCache cache;
  const auto reaches = [&](const char* name, Collective collective) {
    return cache.get({handle(name, collective), 0, 0, 4}).reaches;
  };
  EXPECT_TRUE(reaches("direct", Collective::kAllreduce));
  EXPECT_FALSE(reaches("two_shot", Collective::kAllreduce));
  EXPECT_FALSE(reaches("one_shot", Collective::kBroadcast));
  EXPECT_FALSE(reaches("direct", Collective::kAlltoall));
}

}  // namespace
}  // namespace weft

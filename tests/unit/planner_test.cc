// The cache of plans: what is one plan and what is not.
#include "comm/planner.h"

#include <gtest/gtest.h>

#include <vector>

#include "fabric/inprocess/inprocess_fabric.h"
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

// Lengths are of the longer buffer. Broadcasts are worked on in place by two ranks only, which both
// know that their buffers are symmetric.
TEST(Planner, UsesSymmetricMemoryByLengthAndCollective) {
  const Lengths lengths{.long_broadcast = 8000,
                        .reduce_in_place = 6000,
                        .broadcast_in_place = 7000,
                        .symmetric_from = 1000,
                        .moved_from = 2000,
                        .loaded_to = 4000};
  struct Case {
    Collective collective;
    std::vector<std::size_t> used_by_two, used_by_three;  // of the bytes below
    bool declared = true;
  };
  const std::size_t all_bytes[] = {960, 1200, 2400, 4800, 6000, 7200, 9600};
  for (const Case& c :
       {Case{Collective::kAllreduce,
             {1200, 2400, 4800, 6000, 7200, 9600},
             {1200, 2400, 4800, 6000, 7200, 9600}},
        {Collective::kAlltoall,
         {2400, 4800, 6000, 7200, 9600},
         {1200, 2400, 4800, 6000, 7200, 9600}},
        {Collective::kAllgather,
         {2400, 4800, 6000, 7200, 9600},
         {1200, 2400, 4800, 6000, 7200, 9600}},
        {Collective::kReduce, {1200, 2400, 6000, 7200, 9600}, {1200, 2400, 6000, 7200, 9600}},
        {Collective::kBroadcast, {1200, 2400, 7200, 9600}, {1200, 2400}},
        {Collective::kBroadcast, {1200, 2400}, {1200, 2400}, false}}) {
    for (const int ranks : {2, 3}) {
      Planner planner(0, ranks, {.lengths = lengths, .place = std::vector<int>(ranks)},
                      make_inprocess_fabric());
      std::vector<std::size_t> used;
      for (const std::size_t bytes : all_bytes) {
        std::vector<float> in(bytes / 4), out(bytes / 4);
        const bool blocks =
            c.collective == Collective::kAlltoall || c.collective == Collective::kAllgather;
        const std::size_t count = blocks ? bytes / 4 / static_cast<std::size_t>(ranks) : bytes / 4;
        Binding binding;
        Call call{c.collective, in.data(), out.data(), count, DType::kF32};
        call.symmetric = c.declared;
        planner.bind(call, binding);
        if (binding.symmetric) used.push_back(bytes);
      }
      EXPECT_EQ(used, ranks == 2 ? c.used_by_two : c.used_by_three)
          << name_of(c.collective) << " of " << ranks;
    }
  }
}

}  // namespace
}  // namespace weft

// Which algorithm serves a call: built in, by a table, by name.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/selected.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr auto kAllreduce = Collective::kAllreduce;

TEST(Selector, BuiltIn) {
  struct Case {
    Collective collective;
    int ranks;
    std::size_t bytes;
    const char* algorithm;
    const char* reproducible;
  };
  const std::vector<Case> table = {
      {kAllreduce, 1, 1 << 30, "allreduce/one_shot", "allreduce/one_shot"},
      {kAllreduce, 2, 16 << 10, "allreduce/one_shot", "allreduce/one_shot"},
      {kAllreduce, 16, (16 << 10) + 4, "allreduce/two_shot", "allreduce/two_shot"},
      {kAllreduce, 17, 448, "allreduce/recursive_doubling", "allreduce/two_shot"},
      {kAllreduce, 17, 452,
       "allreduce/multi_leader(inner=direct,leaders=8,node=8,outer=recursive_doubling)",
       "allreduce/two_shot"},
      {kAllreduce, 256, (2 << 20) - 4,
       "allreduce/multi_leader(inner=direct,leaders=8,node=8,outer=recursive_doubling)",
       "allreduce/two_shot"},
      {kAllreduce, 256, 2 << 20, "allreduce/two_level(node=4)", "allreduce/two_shot"},
      {kAllreduce, 257, 8, "allreduce/ring", "allreduce/two_shot"},
      {Collective::kBroadcast, 16, 8, "broadcast/one_shot", "broadcast/one_shot"},
      {Collective::kBroadcast, 17, 8, "broadcast/knomial(radix=8)", "broadcast/knomial(radix=8)"},
      {Collective::kBroadcast, 17, 64 << 10, "broadcast/one_shot", "broadcast/one_shot"},
      {Collective::kBroadcast, 257, 8, "broadcast/knomial", "broadcast/knomial"},
      {Collective::kReduce, 16, 8, "reduce/direct", "reduce/direct"},
      {Collective::kReduce, 17, 8, "reduce/binomial", "reduce/direct"},
      {Collective::kAllgather, 256, 8, "allgather/direct", "allgather/direct"},
      {Collective::kAllgather, 257, 8, "allgather/ring", "allgather/ring"},
      {Collective::kReduceScatter, 17, 8, "reduce_scatter/direct", "reduce_scatter/direct"},
      {Collective::kReduceScatter, 17, 1 << 20, "reduce_scatter/ring", "reduce_scatter/direct"},
      {Collective::kReduceScatter, 257, 8, "reduce_scatter/ring", "reduce_scatter/direct"},
      {Collective::kAlltoall, 256, 8, "alltoall/direct", "alltoall/direct"},
      {Collective::kAlltoall, 257, 8, "alltoall/pairwise", "alltoall/pairwise"},
      {Collective::kGather, 99, 8, "gather/direct", "gather/direct"},
      {Collective::kScatter, 99, 8, "scatter/direct", "scatter/direct"},
      {Collective::kBarrier, 99, 0, "barrier/dissemination", "barrier/dissemination"},
  };
  for (const Case& c : table) {
    const Call call = call_of(c.collective, c.bytes);
    EXPECT_EQ(chosen(c.ranks, call), c.algorithm) << c.ranks;
    EXPECT_EQ(chosen(c.ranks, call, {.reproducible = true}), c.reproducible) << c.ranks;
  }
  // The order in which integers are added up shows in no bit.
  Call whole = call_of(kAllreduce, 8);
  whole.dtype = DType::kI32;
  EXPECT_EQ(chosen(17, whole, {.reproducible = true}), "allreduce/recursive_doubling");
}

TEST(Selector, ManyRanksThatShareCores) {
  struct Case {
    Collective collective;
    int ranks;
    std::size_t bytes;
    const char* algorithm;
  };
  const char* const groups =
      "allreduce/multi_leader(inner=direct,leaders=8,node=8,outer=recursive_doubling)";
  for (const Case& c :
       std::vector<Case>{{Collective::kReduceScatter, 40, 1 << 20, "reduce_scatter/direct"},
                         {Collective::kBroadcast, 2, 8, "broadcast/one_shot"},
                         {Collective::kBroadcast, 16, 1 << 20, "broadcast/one_shot"},
                         {Collective::kBroadcast, 17, 448, "broadcast/knomial(radix=8)"},
                         {Collective::kBroadcast, 17, 452, "broadcast/one_shot"},
                         {Collective::kBroadcast, 40, 452, "broadcast/one_shot"},
                         {Collective::kBroadcast, 41, 452, "broadcast/knomial(radix=8)"},
                         {Collective::kBroadcast, 256, 1 << 20, "broadcast/one_shot"},
                         {Collective::kBroadcast, 257, 1 << 20, "broadcast/knomial"},
                         {kAllreduce, 17, 8, "allreduce/one_shot"},
                         {kAllreduce, 40, 4 << 10, "allreduce/one_shot"},
                         {kAllreduce, 40, (4 << 10) + 4, groups},
                         {kAllreduce, 41, 8, "allreduce/recursive_doubling"},
                         {Collective::kReduce, 40, 448, "reduce/direct"},
                         {Collective::kReduce, 40, 452, "reduce/binomial"},
                         {Collective::kReduce, 41, 8, "reduce/binomial"}})
    EXPECT_EQ(chosen(c.ranks, call_of(c.collective, c.bytes), {.crowded = true}), c.algorithm)
        << c.ranks << " ranks, " << c.bytes << " bytes";
  const Settings strict{.reproducible = true, .crowded = true};
  EXPECT_EQ(chosen(17, call_of(kAllreduce, 8), strict), "allreduce/one_shot");
  EXPECT_EQ(chosen(17, call_of(kAllreduce, (4 << 10) + 4), strict), "allreduce/two_shot");
}

// Sums of groups would be rounded to the type of the call at every step.
TEST(Selector, ManyRanksWithNarrowTypes) {
  Call call = call_of(kAllreduce, 64 << 10);
  call.dtype = DType::kBF16;
  EXPECT_EQ(chosen(40, call), "allreduce/two_level(node=4)");
}

// What holds for many ranks of a node does not hold for as many on several.
TEST(Selector, ManyRanksOfSeveralNodes) {
  std::vector<int> place(40, 0);
  std::fill(place.begin() + 20, place.end(), 1);
  EXPECT_EQ(chosen(40, call_of(Collective::kAlltoall, 8), {.place = place}), "alltoall/pairwise");
}

// Other lanes go first at the end of a chunk.
TEST(Selector, CallsWithAPriorityHaveShortChunks) {
  const Settings settings{.has_priority = true, .place = {0, 1}};
  const Call call = call_of(kAllreduce, 1 << 20);
  EXPECT_EQ(chosen(2, call, settings), "allreduce/two_level(node=1,chunk=512K)");
  Settings asked = settings;
  asked.chunk = 1 << 20;
  EXPECT_EQ(chosen(2, call, asked), "allreduce/two_level(node=1,chunk=1M)");
  Call named = call;
  named.algorithm = "two_level(node=1,chunk=2M)";
  EXPECT_EQ(chosen(2, named, settings), "allreduce/two_level(node=1,chunk=2M)");
}

// The hierarchy is the default wherever ranks lie.
TEST(Selector, BuiltInForSeveralNodes) {
  struct Case {
    std::vector<int> place;
    Collective collective;
    std::size_t bytes;
    const char* algorithm;
  };
  const std::vector<int> even = {0, 0, 1, 1}, mixed = {0, 1, 0, 1, 1}, three = {0, 1, 1, 2},
                         two = {0, 1};
  std::vector<int> many(16, 0), pairs(16, 0);
  std::fill(many.begin() + 8, many.end(), 1);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<int>(i / 2);
  const std::vector<Case> table = {
      {even, kAllreduce, (256 << 10) - 1,
       "allreduce/multi_leader(inner=direct,leaders=1,node=2,outer=recursive_doubling,chunk=256K)"},
      {even, kAllreduce, 256 << 10, "allreduce/two_level(node=2,chunk=512K)"},
      {two, kAllreduce, 256 << 10, "allreduce/two_level(node=1,chunk=1M)"},
      {mixed, kAllreduce, 256 << 10, "allreduce/two_level(place=[0,1,0,1,1],chunk=512K)"},
      {three, kAllreduce, 32 << 10, "allreduce/two_level(place=[0,1,1,2],chunk=512K)"},
      {many, kAllreduce, (32 << 10) - 1,
       "allreduce/multi_leader(inner=direct,leaders=1,node=8,outer=recursive_doubling,chunk=256K)"},
      {many, kAllreduce, 32 << 10,
       "allreduce/multi_leader(inner=direct,leaders=4,node=8,outer=direct,chunk=256K)"},
      {many, kAllreduce, 128 << 10, "allreduce/two_level(node=8,chunk=512K)"},
      {pairs, kAllreduce, 32 << 10, "allreduce/two_level(node=2,chunk=512K)"},
      {even, Collective::kBroadcast, 8, "broadcast/two_level(inner=direct,node=2,outer=knomial)"},
      {even, Collective::kBroadcast, 1 << 20,
       "broadcast/two_level(inner=direct,node=2,outer=chain)"},
      {even, Collective::kReduce, 8, "reduce/two_level(leaders=1,node=2)"},
      {mixed, Collective::kReduce, 1 << 20, "reduce/two_level(outer=chain,place=[0,1,0,1,1])"},
      {even, Collective::kAllgather, 8, "allgather/two_level(node=2)"},
      {even, Collective::kReduceScatter, 8, "reduce_scatter/two_level(node=2)"},
      {mixed, Collective::kBarrier, 0, "barrier/two_level(place=[0,1,0,1,1])"},
      {even, Collective::kAlltoall, 8, "alltoall/direct"},
  };
  for (const Case& c : table) {
    const int ranks = static_cast<int>(c.place.size());
    EXPECT_EQ(chosen(ranks, call_of(c.collective, c.bytes), {.place = c.place}), c.algorithm);
  }
  // Where ranks share cores: few messages, but no sums of halves that are rounded at every step.
  Call some = call_of(kAllreduce, 32 << 10);
  const Settings here{.crowded = true, .place = {0, 1, 2, 3}},
      uneven{.crowded = true, .place = three};
  EXPECT_EQ(chosen(4, some, here),
            "allreduce/multi_leader(inner=direct,leaders=1,node=1,outer=rabenseifner)");
  EXPECT_EQ(chosen(4, some, uneven),
            "allreduce/multi_leader(inner=direct,leaders=1,outer=direct,place=[0,1,1,2])");
  const Call more = call_of(kAllreduce, 2 << 20);
  EXPECT_EQ(chosen(4, more, here),
            "allreduce/multi_leader(inner=direct,leaders=1,node=1,outer=rabenseifner)");
  EXPECT_EQ(chosen(4, more, uneven), "allreduce/two_level(place=[0,1,1,2])");
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 8 << 20), here), "allreduce/two_level(node=1)");
  some.dtype = DType::kBF16;
  some.count *= 2;
  EXPECT_EQ(chosen(4, some, here),
            "allreduce/multi_leader(inner=direct,leaders=1,node=1,outer=direct)");
  some.count *= 64;
  EXPECT_EQ(chosen(4, some, here), "allreduce/two_level(node=1)");
  // Sums of nodes are subtrees only where nodes lie in order; else every rank adds up all inputs.
  const Call call = call_of(kAllreduce, 1 << 20);
  EXPECT_EQ(chosen(4, call, {.reproducible = true, .place = even}),
            "allreduce/tree_levels(node=2)");
  EXPECT_EQ(chosen(5, call, {.reproducible = true, .place = mixed}), "allreduce/two_shot");
  EXPECT_EQ(chosen(4, call, {.algorithm = "lr_lr", .place = even}),
            "allreduce/multi_leader(inner=ring,node=2,outer=ring)");
}

TEST(Selector, WhatCrossesNodesInBf16) {
  const Settings narrow{.wire = true, .place = {0, 0, 1, 1}}, here{.wire = true};
  Call call = call_of(kAllreduce, 8);
  EXPECT_EQ(chosen(4, call, narrow), "allreduce/two_level(node=2,wire=1,chunk=512K)");
  EXPECT_EQ(chosen(4, call, here), "allreduce/one_shot");
  EXPECT_EQ(chosen(4, call_of(Collective::kReduceScatter, 8), narrow),
            "reduce_scatter/two_level(node=2,wire=1)");
  EXPECT_EQ(chosen(4, call_of(Collective::kReduce, 8), narrow),
            chosen(4, call_of(Collective::kReduce, 8), {.place = narrow.place}));
  call.algorithm = "two_level(wire=0)";
  EXPECT_EQ(chosen(4, call, narrow), "allreduce/two_level(node=2,wire=0)");
  call.algorithm = "ring";
  EXPECT_THROW(chosen(4, call, narrow), Unsupported);
  EXPECT_EQ(chosen(4, call, here), "allreduce/ring");
  call.algorithm = "two_level(wire=1)";
  for (auto [dtype, op] : {std::pair{DType::kF64, ReduceOp::kSum}, {DType::kF32, ReduceOp::kMax}}) {
    call.dtype = dtype;
    call.op = op;
    EXPECT_THROW(chosen(4, call), Unsupported);
    Call unnamed = call;
    unnamed.algorithm = {};
    EXPECT_EQ(chosen(4, unnamed, narrow), chosen(4, unnamed, {.place = narrow.place}));
  }
  EXPECT_THROW(chosen(4, call, {.reproducible = true, .wire = true}), InvalidArgument);
}

TEST(Selector, Bf16CrossesNodesInBf16WhereTheAlgorithmHasAChoice) {
  const Settings narrow{.wire = true, .place = {0, 0, 1, 1}};
  Call call = call_of(kAllreduce, 1 << 20);
  call.dtype = DType::kBF16;
  EXPECT_EQ(chosen(4, call, {.place = narrow.place}), "allreduce/two_level(node=2,chunk=512K)");
  EXPECT_EQ(chosen(4, call, narrow), "allreduce/two_level(node=2,wire=1,chunk=512K)");
  Call few = call_of(kAllreduce, 8);
  few.dtype = DType::kBF16;
  EXPECT_EQ(chosen(4, few, narrow), chosen(4, few, {.place = narrow.place}));
  call.algorithm = "ring";
  EXPECT_EQ(chosen(4, call, narrow), "allreduce/ring");
  call.algorithm = "two_level";
  EXPECT_EQ(chosen(4, call, narrow), "allreduce/two_level(node=2,wire=1)");
}

// Rows as a file may have them.
Settings tuned(bool reproducible = false) {
  Settings settings;
  settings.reproducible = reproducible;
  settings.tuned = {
      {kAllreduce, {4, 4}, {}, {0, 1000}, {}, {"ring", {}, 0}},
      {kAllreduce, {4, 4}, {}, {1001, 5000}, true, {"direct", {}, 0}},
      {kAllreduce, {4, 4}, {}, {1001, 5000}, false, {"two_shot", {}, 4096}},
      {kAllreduce, {3, 8}, {}, {5001, 9000}, {}, {"tree_levels", {{"node", 2}}, 0}},
      {kAllreduce, {4, 4}, {2, 2}, {}, {}, {"lr_rab", {}, 0}},
      {Collective::kAlltoall, {4, 4}, {}, {0, 1000}, {}, {"pairwise", {}, 0}},
      {Collective::kGather, {4, 4}, {}, {}, {}, {"direct", {}, 512}},
      {Collective::kBroadcast, {4, 4}, {}, {}, {}, {kAsBuiltIn, {}, 0}},
      {Collective::kBroadcast, {4, 4}, {}, {}, {}, {"chain", {}, 0}},
  };
  return settings;
}

TEST(Selector, TheFirstRowThatServesIsTaken) {
  const Settings settings = tuned();
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 1000), settings), "allreduce/ring");
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 1004), settings), "allreduce/two_shot(chunk=4K)");
  // A chunk was found where each rank had a core.
  Settings crowded = settings;
  crowded.crowded = true;
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 1004), crowded), "allreduce/two_shot");
  Call symmetric = call_of(kAllreduce, 1004);
  symmetric.symmetric = true;
  EXPECT_EQ(chosen(4, symmetric, settings), "allreduce/direct");
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 8000), settings), "allreduce/tree_levels(node=2)");
  // What no row says stays as it is built in; so does what a row cannot serve (5 ranks are no
  // nodes of 2 each).
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 9004), settings), "allreduce/one_shot");
  EXPECT_EQ(chosen(5, call_of(kAllreduce, 1000), settings), "allreduce/one_shot");
  EXPECT_EQ(chosen(5, call_of(kAllreduce, 8000), settings), "allreduce/one_shot");
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 1000), tuned(true)), "allreduce/one_shot");
}

TEST(Selector, ARowMayLeaveItToTheBuiltInTable) {
  const Selection selection =
      Selector(4, tuned()).choose(call_of(Collective::kBroadcast, 8)).selection();
  EXPECT_EQ(to_text(selection.choice), "broadcast/one_shot");
  EXPECT_EQ(selection.rule, Rule::kBuiltIn);
  EXPECT_EQ(selection.row, 8);
}

TEST(Selector, CountsMachines) {
  Settings settings = tuned();
  settings.place = {0, 0, 1, 1};
  EXPECT_EQ(chosen(4, call_of(kAllreduce, 1 << 20), settings),
            "allreduce/multi_leader(inner=ring,node=2,outer=rabenseifner)");
}

TEST(Selector, SizesThatRanksMaySeeDifferentlyNeedARowForAll) {
  const Settings settings = tuned();
  EXPECT_EQ(chosen(4, call_of(Collective::kAlltoall, 8), settings), "alltoall/direct");
  EXPECT_EQ(chosen(4, call_of(Collective::kGather, 8), settings), "gather/direct(chunk=512)");
}

TEST(Selector, SaysByWhichRule) {
  Settings settings = tuned();
  Call call = call_of(kAllreduce, 1004);
  Selection selection = Selector(4, settings).choose(call).selection();
  EXPECT_EQ(selection.rule, Rule::kTable);
  EXPECT_EQ(selection.row, 3);
  EXPECT_EQ(Selector(5, settings).choose(call).rule, Rule::kBuiltIn);
  settings.algorithm = "allreduce=tree_levels(node=2),ring";
  EXPECT_EQ(Selector(4, settings).choose(call).rule, Rule::kEnvironment);
  EXPECT_EQ(chosen(4, call, settings), "allreduce/tree_levels(node=2)");
  EXPECT_EQ(chosen(4, call_of(Collective::kAllgather, 8), settings), "allgather/ring");
  EXPECT_EQ(chosen(4, call_of(Collective::kBroadcast, 8), settings), "broadcast/one_shot");
  call.algorithm = "one_shot(chunk=1K)";
  EXPECT_EQ(Selector(4, settings).choose(call).rule, Rule::kCall);
  EXPECT_EQ(chosen(4, call, settings), "allreduce/one_shot(chunk=1K)");
}

TEST(Selector, ChunksAreThoseOfTheNearestWord) {
  Settings settings = tuned();
  settings.chunk = 2048;  // WEFT_CHUNK goes before a table, and after what is named with a chunk
  Call call = call_of(kAllreduce, 1004);
  EXPECT_EQ(chosen(4, call, settings), "allreduce/two_shot(chunk=2K)");
  call.algorithm = "ring(chunk=1K)";
  EXPECT_EQ(chosen(4, call, settings), "allreduce/ring(chunk=1K)");
}

TEST(Selector, RefusesWhatCannotBe) {
  for (const char* setting : {"rign", "allreduc=ring", "allreduce=ring,rign", "knomial(radix=4"})
    EXPECT_THROW(Selector(4, {.algorithm = setting}), InvalidArgument) << setting;
  Call call = call_of(kAllreduce, 8);
  EXPECT_THROW(chosen(4, call, {.algorithm = "allreduce=rign"}), InvalidArgument);
  EXPECT_THROW(chosen(5, call, {.algorithm = "tree_levels(node=2)"}), Unsupported);
  EXPECT_THROW(chosen(5, call, {.algorithm = "ring", .reproducible = true}), Unsupported);
  call = call_of(Collective::kBroadcast, 8);
  EXPECT_THROW(chosen(5, call, {.algorithm = "knomial(root=2)"}), InvalidArgument);
}

}  // namespace
}  // namespace weft

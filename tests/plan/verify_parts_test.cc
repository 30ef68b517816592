// The verifier's parts: reduction trees, calls, clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "passes/verify/clocks.h"
#include "passes/verify/scenario.h"
#include "passes/verify/values.h"
#include "plan/verify_programs.h"

namespace weft::verifier {
namespace {

using namespace programs;

// ------------------------------------------------------------------ trees

Value leaf(int rank, std::uint32_t element = 0) { return {Trees::leaf(rank), element}; }

TEST(Trees, SumsCommuteButDoNotAssociate) {
  Trees trees(3);
  Value a = leaf(0), b = leaf(1), c = leaf(2);
  EXPECT_EQ(trees.sum(a, b), trees.sum(b, a));
  EXPECT_EQ(trees.sum(trees.sum(a, b), c), trees.sum(c, trees.sum(b, a)));
  EXPECT_NE(trees.sum(trees.sum(a, b), c), trees.sum(a, trees.sum(b, c)));
  EXPECT_EQ(trees.sum(leaf(0, 5), leaf(1, 5)).tree, trees.sum(a, b).tree);
}

TEST(Trees, BalancedOnesSplitAtAPowerOfTwo) {
  Trees trees(7);
  std::vector<Value> x;
  for (int rank = 0; rank < 7; ++rank) x.push_back(leaf(rank));
  auto sum = [&](Value a, Value b) { return trees.sum(a, b); };
  auto first = [&](std::size_t n) { return trees.balanced(std::span(x).first(n)); };
  const Value four = sum(sum(x[0], x[1]), sum(x[2], x[3]));
  EXPECT_EQ(first(1), x[0]);
  EXPECT_EQ(first(3), sum(sum(x[0], x[1]), x[2]));
  EXPECT_EQ(first(4), four);
  EXPECT_EQ(first(5), sum(four, x[4]));
  EXPECT_EQ(first(7), sum(four, sum(sum(x[4], x[5]), x[6])));
  EXPECT_EQ(first(3), trees.from_left(std::span(x).first(3)));
  EXPECT_NE(first(4), trees.from_left(std::span(x).first(4)));
  EXPECT_EQ(trees.reproducible(), trees.rounded(trees.scaled(first(7))).tree);
}

TEST(Trees, RoundOncePartialSumsOnly) {
  Trees trees(2);
  Value sum = trees.sum(leaf(0), leaf(1)), rounded = trees.rounded(sum);
  EXPECT_EQ(trees.rounded(leaf(0)), leaf(0));
  EXPECT_NE(rounded, sum);
  EXPECT_EQ(trees.rounded(rounded), rounded);
  EXPECT_TRUE(trees.is_rounded(rounded.tree));
  EXPECT_FALSE(trees.is_rounded(sum.tree));
}

TEST(Trees, NameTheFlaw) {
  Trees trees(3);
  Value none, all = trees.sum(trees.sum(leaf(0), leaf(1)), leaf(2));
  struct {
    Value value;
    const char* flaw;
  } const rows[] = {
      {trees.scaled(all), ""},
      {trees.rounded(trees.scaled(trees.rounded(all))), ""},
      {all, "misses the last reduction"},
      {leaf(0), "misses rank 1's contribution (1 of 3 are there)"},
      {trees.scaled(trees.sum(leaf(0), leaf(1))), "misses rank 2's contribution"},
      {trees.scaled(trees.sum(all, leaf(1))), "counts rank 1 twice"},
      {trees.scaled(trees.scaled(all)), "scaled twice"},
      {trees.sum(trees.scaled(trees.sum(leaf(0), leaf(1))), leaf(2)), "before it is complete"},
      {trees.scaled(trees.sum(all, none)), "never written"},
      {trees.scaled(trees.sum(leaf(0, 1), leaf(1, 2))), "different elements"},
  };
  for (const auto& row : rows) {
    std::string flaw = trees.flaw(row.value.tree);
    EXPECT_NE(flaw.find(row.flaw), std::string::npos) << flaw << " / " << row.flaw;
    EXPECT_EQ(flaw.empty(), std::string(row.flaw).empty()) << flaw;
  }
}

// More trees than the table begins with, of more ranks than a word has bits.
TEST(Trees, ManyStayDistinct) {
  constexpr int kRanks = 130;
  Trees trees(kRanks);
  std::set<Tree> seen;
  for (int first = 0; first < kRanks; ++first) {
    Value sum = leaf(first);
    for (int i = 1; i < kRanks; ++i) {
      sum = trees.sum(sum, leaf((first + i) % kRanks));
      EXPECT_TRUE(seen.insert(sum.tree).second);
    }
    EXPECT_EQ(trees.flaw(trees.scaled(sum).tree), "");
    EXPECT_NE(trees.flaw(trees.sum(sum, leaf(129)).tree).find("rank 129 twice"), std::string::npos);
  }
}

// ------------------------------------------------------------------ calls

Plan empty_plan(Collective collective, int ranks) {
  return plan_of(collective, ranks, [](Builder& b) {
    if (b.shape().collective == Collective::kAllreduce) b.blocks(4, 4);
  });
}

std::size_t longest(const Scenario& call, const PlanShape& shape) {
  std::size_t most = 0;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (int block = 0; block < shape.output_blocks; ++block)
      most = std::max(most, chunks_of(call.size(rank, {Buffer::kOutput, block, 1}, 0), kChunk));
  return most;
}

TEST(Scenarios, HaveBlocksOfAsManyChunksAsAsked) {
  for (Collective collective : {Collective::kAllreduce, Collective::kAllgather,
                                Collective::kReduceScatter, Collective::kAlltoall}) {
    Plan plan = empty_plan(collective, 4);
    for (int trips : {1, 2, 5})
      for (const Scenario& call : scenarios_of(plan.shape, trips)) {
        auto asked = static_cast<std::size_t>(trips);
        EXPECT_GE(longest(call, plan.shape), asked) << call.name;
        bool longer = call.name.find("one long") != std::string::npos;
        EXPECT_TRUE(longer || longest(call, plan.shape) == asked) << call.name;
      }
  }
}

TEST(Scenarios, BothEndsOfATransferCountTheSame) {
  Plan plan = empty_plan(Collective::kAlltoall, 5);
  for (bool in_place : {false, true}) {
    plan.shape.in_place = in_place;
    for (const Scenario& call : scenarios_of(plan.shape, 3))
      for (int from = 0; from < 5; ++from)
        for (int to = 0; to < 5; ++to)
          EXPECT_EQ(call.size(from, {Buffer::kInput, to, 1}, 0),
                    call.size(to, {Buffer::kOutput, from, 1}, 0));
  }
}

// Where the two sides of an alltoall differ they cannot be one buffer.
TEST(Scenarios, AlltoallIsInPlaceAlsoWithUnevenCounts) {
  Plan plan = empty_plan(Collective::kAlltoall, 5);
  plan.shape.in_place = true;
  bool uneven = false;
  for (const Scenario& call : scenarios_of(plan.shape, 3)) {
    if (!call.in_place[1]) continue;
    EXPECT_EQ(call.input[1], call.output[1]) << call.name;
    uneven = uneven ||
             call.size(1, {Buffer::kInput, 0, 1}, 0) != call.size(1, {Buffer::kInput, 2, 1}, 0);
  }
  EXPECT_TRUE(uneven);
}

TEST(Scenarios, IncludeTailsEmptyBlocksAndPlacements) {
  struct {
    Collective collective;
    bool in_place;
  } const rows[] = {{Collective::kAllreduce, true},
                    {Collective::kReduceScatter, true},
                    {Collective::kAllgather, true},
                    {Collective::kAlltoall, false},
                    {Collective::kAlltoall, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(name_of(row.collective));
    Plan plan = empty_plan(row.collective, 4);
    plan.shape.in_place = row.collective == Collective::kAlltoall && row.in_place;
    bool tail = false, empty = false, aliased = false;
    for (const Scenario& call : scenarios_of(plan.shape, 2)) {
      aliased = aliased || call.in_place[1];
      for (int rank = 0; rank < 4; ++rank)
        for (int block = 0; block < plan.shape.input_blocks; ++block) {
          std::size_t size = call.size(rank, {Buffer::kInput, block, 1}, 0);
          tail = tail || size % kChunk == 1;
          empty = empty || size == 0;
        }
    }
    EXPECT_TRUE(tail);
    EXPECT_TRUE(empty);
    EXPECT_EQ(aliased, row.in_place);
  }
}

TEST(Scenarios, EnoughTripsFollowWhatIsUnderWay) {
  auto trips = [](int slots, int sends, int lag, bool filled) {
    return enough_trips(plan_of(Collective::kAllreduce, 2, [=](Builder& b) {
      int ch = b.channel(slots);
      b.chunks([&] {
        b.lag(lag);
        for (int i = 0; i < sends; ++i) {
          if (filled) b.copy({b.slot(ch)}, b.input());
          b.signal({1 - b.rank()}, ch, b.input());
        }
      });
    }));
  };
  EXPECT_EQ(trips(1, 1, 0, true), 3);
  EXPECT_EQ(trips(4, 1, 0, true), 9);
  EXPECT_EQ(trips(4, 2, 0, true), 5);  // two trips fill the slots
  EXPECT_EQ(trips(4, 3, 0, true), 5);
  EXPECT_EQ(trips(2, 2, 5, true), 11);  // a stage five trips behind
  EXPECT_EQ(trips(99, 1, 0, true), 2 * kMailboxDepth + 1);
  EXPECT_EQ(trips(1, 1, 0, false), 2 * kMailboxDepth + 1);
}

// ------------------------------------------------------------------ clocks

TEST(Clocks, OrderFollowsMessagesOnly) {
  Clocks clocks(3);
  Access before = clocks.now(0, 0);
  auto message = clocks.send(0);
  Access after = clocks.now(0, 1);
  EXPECT_FALSE(clocks.covers(1, before));
  clocks.receive(1, message);
  EXPECT_TRUE(clocks.covers(1, before));
  EXPECT_FALSE(clocks.covers(1, after));
  EXPECT_FALSE(clocks.covers(2, before));
  clocks.receive(2, clocks.send(1));  // order is transitive
  EXPECT_TRUE(clocks.covers(2, before));
  EXPECT_FALSE(clocks.covers(2, unseen(0)));
  EXPECT_TRUE(clocks.covers(2, Access{}));
}

}  // namespace
}  // namespace weft::verifier

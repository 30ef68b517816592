// Steps of one message that go with ranges of different size variables: refused in whatever call
// their numbers happen to be equal.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/verify/scenario.h"
#include "plan/verify_programs.h"

namespace weft {
namespace {

using namespace programs;

constexpr int kRanks = 8;

struct Row {
  const char* name;
  const char* algorithm;
  std::function<void(Plan&)> edit;
  int rank;
  const char* step;  // part of the step's text
  const char* text;  // part of what is said
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

using Test = std::function<bool(const Step&)>;

// Rank 0's steps for which `test` holds go with block 4 of the side that has blocks for all ranks.
std::function<void(Plan&)> by_block_4(const Test& test) {
  return [=](Plan& plan) {
    int changed = 0;
    for (Step& step : plan.programs[0][0].steps)
      if (test(step)) {
        step.extent = {plan.shape.input_blocks > 1 ? Buffer::kInput : Buffer::kOutput, 4, 1};
        ++changed;
      }
    ASSERT_GT(changed, 0) << to_text(plan);
  };
}

Test verb(Verb verb) {
  return [=](const Step& step) { return step.verb == verb; };
}

Test of_rank_1(Verb verb) {
  return [=](const Step& step) { return step.verb == verb && step.peers[0] == Index(1); };
}

const std::vector<Row> kRows = {
    // The plan of the issue: proved before, and then a crash.
    {"credit", "reduce_scatter/direct", by_block_4(of_rank_1(Verb::kCredit)), 0,
     "credit 1 on 0 for input[4]", "goes with 0 elements, but rank 1 sent with 0"},
    {"wait", "reduce_scatter/direct", by_block_4(of_rank_1(Verb::kWait)), 0,
     "wait 1 on 0 for input[4]", "rank 1 sent with"},
    {"reduce", "reduce_scatter/direct", by_block_4(verb(Verb::kReduce)), 0, "reduce",
     "equal in this call, not for all counts"},
    {"all_of_a_message", "reduce_scatter/direct", by_block_4([](const Step& step) {
       return of_rank_1(Verb::kWait)(step) || of_rank_1(Verb::kCredit)(step);
     }),
     0, "wait 1 on 0 for input[4]", "rank 1 sent with"},
    {"put", "alltoall/direct", by_block_4(of_rank_1(Verb::kPut)), 0, "put",
     "an operand has 0 elements and the step's range 0"},
    {"copy", "allgather/direct", by_block_4(verb(Verb::kCopy)), 0, "copy", "an operand has"},
    {"credit_of_a_sum", "reduce_scatter/ring", by_block_4(verb(Verb::kCredit)), 0, "credit",
     "rank 7 sent with"},
    {"signal", "reduce_scatter/ring", by_block_4(verb(Verb::kSignal)), 0, "signal",
     "its slot was filled with"},
};

class Extents : public testing::TestWithParam<Row> {};

TEST_P(Extents, AreComparedForAllCounts) {
  const Row& row = GetParam();
  Plan plan = make_plan(row.algorithm, kRanks);
  row.edit(plan);
  VerifyReport report = verify(plan);
  ASSERT_FALSE(report.ok()) << to_text(report);
  const Finding& first = report.findings[0];
  EXPECT_EQ(first.fault, Fault::kMalformed);
  EXPECT_EQ(first.rank, row.rank);
  EXPECT_NE(first.step.find(row.step), std::string::npos) << to_text(report);
  EXPECT_NE(first.text.find(row.text), std::string::npos) << to_text(report);
}

INSTANTIATE_TEST_SUITE_P(Verify, Extents, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

// A rank that is not the root may have been told its own count alone.
TEST(Extents, OthersCountsAreUnknownToAllButTheRoot) {
  struct {
    int told, told_by;
    bool ok;
  } const rows[] = {{1, 1, true}, {2, 1, false}, {1, 2, false}};
  for (const auto& row : rows) {
    const Plan plan = plan_of(Collective::kGather, 3, [&](Builder& b) {
      b.param("root", 0);
      const int data = b.channel(2), note = b.channel(1), me = b.rank();
      b.chunks([&] {
        if (me == 0) b.copy({b.output(0)}, b.input());
        if (me > 0) b.put(b.input(), {0}, data);
        for (int peer = 1; me == 0 && peer < 3; ++peer) {
          b.wait(peer, data, b.output(peer));
          b.copy({b.output(peer)}, b.slot(peer, data));
          b.credit(peer, data, b.output(peer));
        }
      });
      // Messages without payload, by a block of the output.
      b.chunks([&] {
        if (me == row.told_by) return b.signal({0}, note, b.output(row.told));
        if (me > 0) return;
        b.wait(row.told_by, note, b.output(row.told));
        b.credit(row.told_by, note, b.output(row.told));
      });
    });
    const VerifyReport report = verify(plan);
    EXPECT_EQ(report.ok(), row.ok) << row.told << " by " << row.told_by << "\n" << to_text(report);
  }
}

// Where a root's blocks begin, the others do not know.
TEST(Extents, PutsIntoARootsOutputNeedEqualCounts) {
  for (bool equal : {false, true}) {
    const Plan plan = plan_of(Collective::kGather, 3, [&](Builder& b) {
      if (equal) b.equal_counts();
      b.param("root", 0);
      const int ch = b.channel(2), me = b.rank();
      meet(b, ch);
      b.chunks([&] {
        if (me > 0) return b.put({b.output_of(0, me)}, b.input(), {0}, ch);
        b.copy({b.output(0)}, b.input());
        for (int peer : others(b)) {
          b.wait(peer, ch, b.output(peer));
          b.copy({b.output(peer)}, b.slot(peer, ch));
          b.credit(peer, ch, b.output(peer));
        }
      });
    });
    const VerifyReport report = verify(plan);
    EXPECT_EQ(report.ok(), equal) << to_text(report);
    EXPECT_EQ(to_text(report).find("begins elsewhere") != std::string::npos, !equal);
  }
}

// ------------------------------------------------------------------ size variables

TEST(Variables, AreEqualWhereSizesAreEqualInEveryCall) {
  using verifier::variables_of;
  const auto sum = [](const verifier::Scenario& of, int rank, Buffer buffer, int block,
                      int blocks = 1) { return of.size(rank, {buffer, block, blocks}, 0); };
  const auto in = Buffer::kInput, out = Buffer::kOutput;

  const auto cut =
      variables_of(plan_of(Collective::kAllreduce, 2, [](Builder& b) { b.blocks(2, 4); }).shape);
  EXPECT_EQ(sum(cut, 0, in, 1), sum(cut, 1, in, 1));
  EXPECT_EQ(sum(cut, 0, in, 0, 2), sum(cut, 0, out, 0, 4));  // both are the count
  EXPECT_NE(sum(cut, 0, in, 0), sum(cut, 0, in, 1));         // the last may be shorter
  EXPECT_NE(sum(cut, 0, in, 0), sum(cut, 0, out, 0, 2));

  const auto gather = variables_of(make_plan("allgather/direct", 8).shape);
  EXPECT_EQ(sum(gather, 3, in, 0), sum(gather, 5, out, 3));
  EXPECT_NE(sum(gather, 3, out, 0), sum(gather, 3, out, 4));
  EXPECT_EQ(sum(gather, 3, out, 2, 2), sum(gather, 3, out, 2) + sum(gather, 3, out, 3));

  const auto all = variables_of(make_plan("alltoall/direct", 8).shape);
  EXPECT_EQ(sum(all, 3, in, 5), sum(all, 5, out, 3));
  EXPECT_NE(sum(all, 3, in, 5), sum(all, 5, in, 3));

  const auto equal = variables_of(make_plan("alltoall/two_level", 4).shape);
  EXPECT_EQ(sum(equal, 0, in, 1, 2), sum(equal, 3, out, 0, 2));
  EXPECT_NE(sum(equal, 0, in, 1, 2), sum(equal, 3, out, 0, 1));
}

// No two blocks have the same counts in all calls, however far they are apart.
TEST(Scenarios, CountsDifferBetweenAnyTwoBlocks) {
  const Plan plan = make_plan("allgather/direct", 17);
  for (int a = 0; a < 17; ++a)
    for (int b = 0; b < a; ++b) {
      bool differ = false;
      for (int trips : {5, 7})
        for (const verifier::Scenario& call : verifier::scenarios_of(plan.shape, trips))
          differ = differ || (call.name.find("by rank") != std::string::npos &&
                              call.size(0, {Buffer::kOutput, a, 1}, 0) !=
                                  call.size(0, {Buffer::kOutput, b, 1}, 0));
      EXPECT_TRUE(differ) << a << " and " << b;
    }
}

}  // namespace
}  // namespace weft

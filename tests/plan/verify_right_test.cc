// Plans in which the verifier must find nothing, and what it says of them.
#include <gtest/gtest.h>

#include "plan/verify_programs.h"

namespace weft {
namespace {

using namespace programs;

struct Right {
  const char* name;
  Collective collective;
  std::vector<int> ranks;
  Write write;
};

void PrintTo(const Right& right, std::ostream* out) { *out << right.name; }

// The source is written after a message that its reader sent when it had read.
void put_answer_write(Builder& b) {
  int data = b.channel(2), answer = b.channel(2);
  b.chunks([&] {
    if (b.rank() == 0) {
      b.put(b.input(), {1}, data);
      b.wait(1, answer, b.input());
      b.copy({b.output()}, b.slot(1, answer));
      b.credit(1, answer, b.input());
      return;
    }
    b.wait(0, data, b.input());
    b.reduce({b.output(), b.slot(answer)}, {b.slot(0, data), b.input()}, Builder::kLast);
    b.signal({0}, answer, b.input());
    b.credit(0, data, b.input());
  });
}

void central_barrier(Builder& b) {
  int ch = b.channel(1);
  b.once([&] {
    if (b.rank() != 0) {
      b.signal({0}, ch);
      b.wait(0, ch);
      b.credit(0, ch);
      return;
    }
    for (int peer : others(b)) b.wait(peer, ch);
    for (int peer : others(b)) b.credit(peer, ch);
    if (b.ranks() > 1) b.signal(others(b), ch);
  });
}

const std::vector<Right> kRight = {
    {"one_shot", kAllreduce, {1, 2, 3, 4, 5, 8}, one_shot},
    {"two_shot", kAllreduce, {2, 3, 4, 5, 8}, two_shot},
    {"direct", kAllreduce, {2, 3, 4, 5, 8}, direct},
    {"put_answer_write", kAllreduce, {2}, put_answer_write},
    {"put_flush_write", kAllreduce, {3}, silent_reader(true)},
    {"chain_broadcast", kBroadcast, {1, 2, 3, 4, 5, 8}, chain_broadcast},
    {"pull_broadcast", kBroadcast, {2, 3, 4, 5, 8}, pull_broadcast(Omit::kNothing)},
    {"put_into_peers", Collective::kAllgather, {2, 3, 4, 5, 8}, put_into_peers(true)},
    // Nobody has said where its output lies, so the puts go into slots.
    {"put_into_slots", Collective::kAllgather, {2, 3, 4, 5, 8}, put_into_peers(false)},
    {"central_barrier", Collective::kBarrier, {1, 2, 3, 4, 5, 8}, central_barrier},
};

class RightPlan : public testing::TestWithParam<Right> {};

TEST_P(RightPlan, IsProved) {
  for (int ranks : GetParam().ranks) {
    VerifyReport report = verify(plan_of(GetParam().collective, ranks, GetParam().write));
    EXPECT_TRUE(report.ok()) << ranks << " ranks\n" << to_text(report);
    EXPECT_TRUE(report.consistent);
    EXPECT_FALSE(report.rounds_partials);
    EXPECT_GE(report.scenarios, 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Verify, RightPlan, testing::ValuesIn(kRight),
                         [](const auto& info) { return info.param.name; });

// Three ranks; the sum goes round once, in one width, and is told, in another.
Write running_sum(Width going, Width told = Width::kPlain) {
  return [=](Builder& b) {
    int partial = b.channel(2, going), total = b.channel(2, told), me = b.rank();
    b.chunks([&] {
      if (me == 0) b.copy({b.slot(partial)}, b.input());
      if (me > 0) b.wait(me - 1, partial, b.input());
      std::vector<Operand> sources = {b.input()};
      if (me > 0) sources.insert(sources.begin(), b.slot(me - 1, partial));
      if (me == 1) b.reduce({b.slot(partial)}, sources, Builder::kPartial);
      if (me == 2) b.reduce({b.output(), b.slot(total)}, sources, Builder::kLast);
      if (me < 2) b.signal({me + 1}, partial, b.input());
      if (me > 0) b.credit(me - 1, partial, b.input());
      if (me == 2) return b.signal({0, 1}, total, b.output());
      b.wait(2, total, b.output());
      b.copy({b.output()}, b.slot(2, total));
      b.credit(2, total, b.output());
    });
  };
}

TEST(Verify, SaysWhetherPartialSumsAreRounded) {
  for (Width width : {Width::kPlain, Width::kWide, Width::kNarrow}) {
    VerifyReport report = verify(plan_of(kAllreduce, 3, running_sum(width)));
    ASSERT_TRUE(report.ok()) << to_text(report);
    EXPECT_EQ(report.rounds_partials, width != Width::kWide);
    // x0, and then x0 + x1.
    EXPECT_EQ(report.narrowings, width == Width::kNarrow ? 2 : 0);
    EXPECT_TRUE(report.consistent);
  }
}

// The rank that tells a rounded result keeps it as it has told it.
TEST(Verify, NarrowSlotsRoundForBothDestinations) {
  const Plan plan = plan_of(kAllreduce, 3, running_sum(Width::kWide, Width::kNarrow));
  VerifyReport report = verify(plan, {-1, {.consistent = true}});
  ASSERT_TRUE(report.ok()) << to_text(report);
  EXPECT_EQ(report.narrowings, 1);
  EXPECT_FALSE(report.reproducible);
}

// What a rank adds up of its own is not rounded, so here every rank has bits of its own.
TEST(Verify, NarrowContributionsAreNotConsistent) {
  const auto narrow_one_shot = [](Builder& b) {
    int ch = b.channel(2, Width::kNarrow);
    b.chunks([&] {
      b.copy({b.slot(ch)}, b.input());
      b.signal(others(b), ch, b.input());
      for (int peer : others(b)) b.wait(peer, ch, b.input());
      std::vector<Operand> sources = {b.input()};
      for (int peer : others(b)) sources.push_back(b.slot(peer, ch));
      b.reduce({b.output()}, sources, Builder::kLast);
      for (int peer : others(b)) b.credit(peer, ch, b.input());
    });
  };
  const Plan plan = plan_of(kAllreduce, 2, narrow_one_shot);
  EXPECT_TRUE(verify(plan).ok());
  EXPECT_FALSE(verify(plan).consistent);
  const VerifyReport claimed = verify(plan, {-1, {.consistent = true}});
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.findings[0].fault, Fault::kClaim);
}

// Each rank adds up from its own input on, instead of from rank 0's.
void rotated_sum(Builder& b) {
  int ch = b.channel(2);
  b.chunks([&] {
    std::vector<Operand> sources = {b.input()};
    b.copy({b.slot(ch)}, b.input());
    b.signal(others(b), ch, b.input());
    for (int peer : others(b)) b.wait(peer, ch, b.input());
    for (int peer : others(b)) sources.push_back(b.slot(peer, ch));
    b.reduce({b.output()}, sources, Builder::kLast);
    for (int peer : others(b)) b.credit(peer, ch, b.input());
  });
}

TEST(Verify, SaysWhetherAllRanksGetTheSameBits) {
  // Two ranks differ in the order of one sum, which commutes; three in what is added first.
  for (int ranks : {2, 3, 4}) {
    VerifyReport report = verify(plan_of(kAllreduce, ranks, rotated_sum));
    ASSERT_TRUE(report.ok()) << to_text(report);
    EXPECT_EQ(report.consistent, ranks == 2);
  }
}

TEST(Verify, RefusesAFalseClaimOfTheSameBits) {
  const VerifyOptions claimed{2, {.consistent = true}};
  EXPECT_TRUE(verify(plan_of(kAllreduce, 3, one_shot), claimed).ok());
  EXPECT_TRUE(verify(plan_of(kAllreduce, 2, rotated_sum), claimed).ok());
  VerifyReport report = verify(plan_of(kAllreduce, 3, rotated_sum), claimed);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.findings[0].fault, Fault::kClaim);
  EXPECT_EQ(report.findings[0].rank, 1);
  for (const char* order : {"x0 + (x1 + x2) here", "x2 + (x0 + x1) on rank 0"})
    EXPECT_NE(report.findings[0].text.find(order), std::string::npos) << to_text(report);
}

TEST(Verify, SaysWhetherBitsAreReproducible) {
  // Up to three ranks there is but one order that starts with rank 0 and 1.
  for (int ranks : {2, 3, 4}) {
    Plan plan = plan_of(kAllreduce, ranks, one_shot);
    EXPECT_EQ(verify(plan, {2}).reproducible, ranks < 4);
    EXPECT_EQ(verify(plan, {2, {.reproducible = true}}).ok(), ranks < 4);
  }
  VerifyReport report =
      verify(plan_of(kAllreduce, 4, one_shot), {2, {.consistent = true, .reproducible = true}});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.findings[0].fault, Fault::kClaim);
  EXPECT_NE(report.findings[0].text.find("(x0 + x1) + (x2 + x3), but is x3 + (x2 + (x0 + x1))"),
            std::string::npos)
      << to_text(report);
  EXPECT_FALSE(verify(plan_of(kAllreduce, 3, running_sum(Width::kPlain)), {2}).reproducible);
  EXPECT_TRUE(verify(plan_of(kAllreduce, 3, running_sum(Width::kWide)), {2}).reproducible);
}

// What was never written, or mixes elements, has no order to be shown.
TEST(Verify, RefusesClaimsOfWhatIsNoSum) {
  const VerifyOptions claimed{2, {.consistent = true, .reproducible = true}};
  const auto wrong = [](bool mixes) {
    return [=](Builder& b) {
      b.equal_counts();
      if (!mixes) return;
      b.chunks([&] { b.reduce({b.output()}, {b.input(0), b.input(1)}, Builder::kLast); });
    };
  };
  for (bool mixes : {false, true})
    EXPECT_FALSE(verify(plan_of(Collective::kReduceScatter, 2, wrong(mixes)), claimed).ok());
}

TEST(Verify, ExecutesAsManySizesAsAsked) {
  Plan plan = plan_of(kAllreduce, 2, one_shot);
  EXPECT_LT(verify(plan, {0}).scenarios, verify(plan, {1}).scenarios);
  EXPECT_LT(verify(plan, {1}).scenarios, verify(plan, {4}).scenarios);
}

TEST(Verify, PrintsAProof) {
  std::string text = to_text(verify(plan_of(kAllreduce, 2, one_shot)));
  EXPECT_NE(text.find("proved"), std::string::npos) << text;
  EXPECT_NE(text.find("identical bits"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft

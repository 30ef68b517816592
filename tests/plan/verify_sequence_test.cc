// Plans that follow each other on one lane, without a barrier in between.
#include "passes/verify/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/verify_programs.h"
#include "weft/error.h"

namespace weft {
namespace {

using namespace programs;
using verifier::verify_sequence;

bool found(const VerifyReport& report, Fault fault, int rank, const std::string& text) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.fault == fault && finding.rank == rank &&
           finding.text.find(text) != std::string::npos;
  });
}

// The root sends and is through, whatever the others do.
Plan star(int ranks, int root) {
  return plan_of(Collective::kBroadcast, ranks,
                 [root](Builder& b) {
                   int ch = b.channel(2);
                   b.chunks([&] {
                     if (b.rank() == root) {
                       b.copy({b.output(), b.slot(ch)}, b.input());
                       return b.signal(others(b), ch, b.input());
                     }
                     b.wait(root, ch, b.output());
                     b.copy({b.output()}, b.slot(root, ch));
                     b.credit(root, ch, b.output());
                   });
                 },
                 {{"root", root}});
}

std::vector<Plan> plans(int ranks) {
  return {plan_of(Collective::kAllreduce, ranks, one_shot),
          plan_of(Collective::kAllreduce, ranks, two_shot),
          plan_of(Collective::kAllreduce, ranks, direct),
          plan_of(Collective::kBroadcast, ranks, chain_broadcast),
          plan_of(Collective::kBroadcast, ranks, pull_broadcast(Omit::kNothing)),
          plan_of(Collective::kAllgather, ranks, put_into_peers(true)),
          star(ranks, 0),
          star(ranks, ranks - 1)};
}

TEST(VerifySequence, AnyPlanMayFollowAnyOther) {
  for (int ranks : {2, 3, 4}) {
    std::vector<Plan> all = plans(ranks);
    for (const Plan& first : all)
      for (const Plan& second : all) {
        VerifyReport report = verify_sequence({first, second, first}, {3});
        EXPECT_TRUE(report.ok()) << to_text(first) << to_text(second) << to_text(report);
      }
  }
}

// The root is ahead by as much as slots and mailboxes let it.
TEST(VerifySequence, ManyInARowFromOneRoot) {
  std::vector<Plan> row(12, star(3, 0));
  VerifyReport report = verify_sequence(row, {2});
  EXPECT_TRUE(report.ok()) << to_text(report);
}

// Sends one message too many, or keeps one.
Plan spoilt(bool keeps) {
  return plan_of(Collective::kBroadcast, 2, [keeps](Builder& b) {
    b.param("root", 0);
    int ch = b.channel(4);
    b.chunks([&] {
      if (b.rank() == 0) {
        b.copy({b.output(), b.slot(ch)}, b.input());
        b.signal({1}, ch, b.input());
        if (!keeps) b.signal({1}, ch, b.input());
        return;
      }
      b.wait(0, ch, b.output());
      b.copy({b.output()}, b.slot(0, ch));
      if (!keeps) b.credit(0, ch, b.output());
    });
  });
}

TEST(VerifySequence, NextPlanStumblesOverWhatIsLeft) {
  Plan next = star(2, 0);
  EXPECT_TRUE(found(verify_sequence({spoilt(false), next}), Fault::kContract, 1,
                    "takes a message of another collective"));
  EXPECT_TRUE(found(verify_sequence({spoilt(true), next}), Fault::kContract, 1, "never credited"));
}

// What an earlier barrier has told does not count.
TEST(VerifySequence, EachBarrierIsWaitedFor) {
  Plan right = plan_of(Collective::kBarrier, 3, [](Builder& b) { meet(b, b.channel(1)); });
  Plan wrong = plan_of(Collective::kBarrier, 3, [](Builder&) {});
  EXPECT_TRUE(verify_sequence({right, right}).ok());
  EXPECT_TRUE(found(verify_sequence({right, wrong}), Fault::kWrongResult, 0,
                    "without knowing that rank 1 has entered"));
}

TEST(VerifySequence, FirstFaultIsFoundAsWell) {
  Plan wrong = star(2, 0);
  wrong.programs[0][0].steps[0].dst.pop_back();  // signals without payload
  VerifyReport report = verify_sequence({star(2, 1), wrong});
  EXPECT_TRUE(found(report, Fault::kSlotReuse, 1, "no payload")) << to_text(report);
}

TEST(VerifySequence, RefusesWhatIsNoSequence) {
  EXPECT_THROW(verify_sequence({}), InvalidArgument);
  EXPECT_THROW(verify_sequence({star(2, 0), star(3, 0)}), InvalidArgument);
}

}  // namespace
}  // namespace weft

// Plans with one fault planted in each: the verifier names it, its rank and its step.
// Here: deadlocks, and what is left behind.
#include <gtest/gtest.h>

#include "plan/verify_faults.h"

namespace weft {
namespace {

using namespace programs;

class StuckPlan : public testing::TestWithParam<Wrong> {};

TEST_P(StuckPlan, IsFound) { expect_found(GetParam()); }

// ------------------------------------------------------------------ deadlock

void crossed_waits(Builder& b) {
  int ch = b.channel(1), peer = 1 - b.rank();
  b.once([&] {
    b.wait(peer, ch);
    b.signal({peer}, ch);
    b.credit(peer, ch);
  });
}

// Two messages a trip, received together, in `slots` slots.
Write pairs(int slots) {
  return [slots](Builder& b) {
    b.param("root", 0);
    b.blocks(2, 2);
    int ch = b.channel(slots);
    b.chunks([&] {
      if (b.rank() == 0) {
        for (int block : {0, 1}) {
          b.copy({b.output(block), b.slot(ch)}, b.input(block));
          b.signal({1}, ch, b.input(block));
        }
        return;
      }
      for (int block : {0, 1}) b.wait(0, ch, b.output(block));
      for (int block : {0, 1}) {
        b.copy({b.output(block)}, b.slot(0, ch));
        b.credit(0, ch, b.output(block));
      }
    });
  };
}

void crossed_flushes(Builder& b) {
  int ch = b.channel(8), peer = 1 - b.rank();
  b.chunks([&] { b.put(b.input(), {peer}, ch); });
  b.once([&] { b.flush(); });
  b.chunks([&] {
    b.wait(peer, ch, b.output(peer));
    b.copy({b.output(peer)}, b.slot(peer, ch));
    b.credit(peer, ch, b.output(peer));
  });
}

void waits_for_nothing(Builder& b) {
  int ch = b.channel(1);
  b.once([&] {
    if (b.rank() == 0) b.wait(1, ch);
  });
}

// A message a chunk on one channel, none of which is taken before one on the other: in vain
// once there are more chunks than a mailbox holds.
void late_reader(Builder& b) {
  b.param("root", 0);
  int tick = b.channel(1), done = b.channel(1);
  b.chunks([&] {
    if (b.rank() == 0) {
      b.copy({b.output()}, b.input());
      b.signal({1}, tick, b.input());
    }
  });
  b.once([&] {
    if (b.rank() == 0) return b.signal({1}, done);
    b.wait(0, done);
    b.credit(0, done);
  });
  b.chunks([&] {
    if (b.rank() == 0) return;
    b.wait(0, tick, b.output());
    b.credit(0, tick, b.output());
  });
}

void never_credited(Builder& b) {
  b.param("root", 0);
  int ch = b.channel(2);
  b.chunks([&] {
    if (b.rank() == 0) {
      b.copy({b.output()}, b.input());
      b.put(b.input(), {1}, ch);
      return;
    }
    b.wait(0, ch, b.output());
    b.copy({b.output()}, b.slot(0, ch));
  });
}

const std::vector<Wrong> kDeadlock = {
    {"crossed_waits", Collective::kBarrier, 2, crossed_waits, Fault::kDeadlock, 0, "wait 1",
     "a message from rank 1 on channel 0; rank 1 waits for rank 0"},
    {"too_few_slots", kBroadcast, 2, pairs(1), Fault::kDeadlock, 0, "copy output[1]",
     "its slot to be credited by rank 1"},
    {"crossed_flushes", Collective::kAllgather, 2, crossed_flushes, Fault::kDeadlock, 0, "flush",
     "its puts to be credited by rank 1"},
    {"waits_for_nothing", Collective::kBarrier, 2, waits_for_nothing, Fault::kDeadlock, 0, "wait 1",
     "rank 1 is through"},
    {"full_mailbox", kBroadcast, 2, late_reader, Fault::kDeadlock, 0, "signal",
     "room in the mailbox of rank 1"},
    {"puts_kept", kBroadcast, 2, never_credited, Fault::kDeadlock, 0, kEnd,
     "its puts to be credited by rank 1"},
};
INSTANTIATE_TEST_SUITE_P(Deadlock, StuckPlan, testing::ValuesIn(kDeadlock), name_of_row);

TEST(Verify, EnoughSlotsForPairs) {
  VerifyReport report = verify(plan_of(kBroadcast, 2, pairs(2)));
  EXPECT_TRUE(report.ok()) << to_text(report);
}

// ------------------------------------------------------------------ contract

void signal_too_many(Builder& b, int ch) {
  send_chunk(b, ch);
  b.signal({1}, ch, b.input());
}

const std::vector<Wrong> kContract = {
    {"not_received", kBroadcast, 2, root_and_leaf(signal_too_many, take_chunk), Fault::kContract, 1,
     kEnd, "never received"},
    {"not_credited", kBroadcast, 2, never_credited, Fault::kContract, 1, kEnd, "never credited"},
    {"not_sent", kBroadcast, 2,
     root_and_leaf(
         [](Builder& b, int ch) {
           send_chunk(b, ch);
           b.copy({b.slot(ch)}, b.input());
         },
         take_chunk),
     Fault::kContract, 0, kEnd, "never sent"},
    {"credited_twice", kBroadcast, 2,
     root_and_leaf(send_chunk,
                   [](Builder& b, int ch) {
                     take_chunk(b, ch);
                     b.credit(0, ch, b.output());
                   }),
     Fault::kContract, 1, "credit", "all that it received are credited"},
};
INSTANTIATE_TEST_SUITE_P(Contract, StuckPlan, testing::ValuesIn(kContract), name_of_row);

}  // namespace
}  // namespace weft

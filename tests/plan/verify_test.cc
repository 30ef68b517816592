// Plans with one fault planted in each: the verifier names it, its rank and its step.
// Here: wrong results, races, slots and the sources of puts.
#include <gtest/gtest.h>

#include "plan/verify_faults.h"

namespace weft {
namespace {

using namespace programs;

class WrongPlan : public testing::TestWithParam<Wrong> {};

TEST_P(WrongPlan, IsFound) { expect_found(GetParam()); }

// An exchange of inputs between two ranks, then `finish(b, peer, ch)`.
Write exchange(std::function<void(Builder&, int peer, int ch)> finish) {
  return [finish = std::move(finish)](Builder& b) {
    int ch = b.channel(2), peer = 1 - b.rank();
    b.chunks([&] {
      b.copy({b.slot(ch)}, b.input());
      b.signal({peer}, ch, b.input());
      b.wait(peer, ch, b.input());
      finish(b, peer, ch);
    });
  };
}

// ------------------------------------------------------------------ wrong result

Write sum_of(std::function<std::vector<Operand>(Builder&, int peer, int ch)> sources,
             Builder::Partial partial = Builder::kLast) {
  return exchange([=](Builder& b, int peer, int ch) {
    b.reduce({b.output()}, sources(b, peer, ch), partial);
    b.credit(peer, ch, b.input());
  });
}

void forgetful_root(Builder& b) {
  b.param("root", 0);
  int ch = b.channel(2);
  b.chunks([&] {
    if (b.rank() == 0) return b.put(b.input(), {1}, ch);
    b.wait(0, ch, b.output());
    b.copy({b.output()}, b.slot(0, ch));
    b.credit(0, ch, b.output());
  });
}

void swapped_blocks(Builder& b) {
  b.equal_counts();
  int ch = b.channel(2), me = b.rank(), peer = 1 - me;
  b.chunks([&] {
    b.put(b.input(), {peer}, ch);
    b.wait(peer, ch, b.output(peer));
    b.copy({b.output(me)}, b.slot(peer, ch));
    b.credit(peer, ch, b.output(peer));
  });
}

void one_way_barrier(Builder& b) {
  int ch = b.channel(1), next = (b.rank() + 1) % b.ranks();
  b.once([&] {
    b.signal({next}, ch);
    b.wait((b.rank() + b.ranks() - 1) % b.ranks(), ch);
    b.credit((b.rank() + b.ranks() - 1) % b.ranks(), ch);
  });
}

const std::vector<Wrong> kResult = {
    {"missing", kAllreduce, 2, sum_of([](Builder& b, int peer, int ch) {
       return b.rank() == 0 ? std::vector{b.input(), b.slot(peer, ch)} : std::vector{b.input()};
     }),
     Fault::kWrongResult, 1, "reduce!", "misses rank 0's contribution"},
    {"twice", kAllreduce, 2, sum_of([](Builder& b, int peer, int ch) {
       return std::vector{b.input(), b.slot(peer, ch), b.slot(peer, ch)};
     }),
     Fault::kWrongResult, 0, "reduce!", "counts rank 1 twice"},
    {"unscaled", kAllreduce, 2,
     sum_of([](Builder& b, int peer, int ch) { return std::vector{b.input(), b.slot(peer, ch)}; },
            Builder::kPartial),
     Fault::kWrongResult, 0, "reduce", "misses the last reduction"},
    {"scaled_twice", kAllreduce, 2, exchange([](Builder& b, int peer, int ch) {
       b.reduce({b.output()}, {b.input(), b.slot(peer, ch)}, Builder::kLast);
       b.reduce({b.output()}, {b.output()}, Builder::kLast);
       b.credit(peer, ch, b.input());
     }),
     Fault::kWrongResult, 0, "reduce!", "is scaled twice"},
    {"scaled_early", kAllreduce, 2, exchange([](Builder& b, int peer, int ch) {
       b.reduce({b.output()}, {b.input()}, Builder::kLast);
       b.reduce({b.output()}, {b.output(), b.slot(peer, ch)}, Builder::kPartial);
       b.credit(peer, ch, b.input());
     }),
     Fault::kWrongResult, 1, "reduce", "scaled before it is complete"},
    {"copied_alone", kAllreduce, 1,
     [](Builder& b) { b.chunks([&] { b.copy({b.output()}, b.input()); }); }, Fault::kWrongResult, 0,
     "copy", "misses the last reduction"},
    {"unwritten", kBroadcast, 2, forgetful_root, Fault::kWrongResult, 0, kEnd, "never written"},
    {"swapped", Collective::kAllgather, 2, swapped_blocks, Fault::kWrongResult, 0, "copy",
     "holds element 0 of rank 1's input"},
    {"barrier", Collective::kBarrier, 3, one_way_barrier, Fault::kWrongResult, 0, kEnd,
     "without knowing that rank 1"},
};
INSTANTIATE_TEST_SUITE_P(Result, WrongPlan, testing::ValuesIn(kResult), name_of_row);

// ------------------------------------------------------------------ race

// Rank 0 writes into rank 1's output, rank 1 sends that on without having been told.
void eager_relay(Builder& b) {
  b.param("root", 0);
  int ch = b.channel(2), me = b.rank();
  if (me < 2)
    b.once([&] {
      if (me == 1) return b.signal({0}, ch);
      b.wait(1, ch);
      b.credit(1, ch);
    });
  b.chunks([&] {
    if (me == 0) {
      b.copy({b.output()}, b.input());
      b.put({b.output_of(1)}, b.input(), {1}, ch);
    } else if (me == 1) {
      b.copy({b.slot(ch)}, b.output());
      b.signal({2}, ch, b.output());
      b.wait(0, ch, b.output());
      b.copy({b.output()}, b.slot(0, ch));
      b.credit(0, ch, b.output());
    } else {
      b.wait(1, ch, b.output());
      b.copy({b.output()}, b.slot(1, ch));
      b.credit(1, ch, b.output());
    }
  });
}

// Both others write the root's first block.
void same_target(Builder& b) {
  b.param("root", 0);
  b.equal_counts();
  int ch = b.channel(1), me = b.rank();
  meet(b, ch);
  b.chunks([&] {
    if (me > 0) return b.put({b.output_of(0)}, b.input(), {0}, ch);
    for (int peer : others(b)) b.wait(peer, ch, b.output(peer));
    for (int peer : others(b)) b.credit(peer, ch, b.output(peer));
    for (int block = 0; block < 3; ++block) b.copy({b.output(block)}, b.input());
  });
}

// A payload says when, but not where the sender's buffers are.
void told_by_payload(Builder& b) {
  b.param("root", 0);
  int ch = b.channel(2);
  b.chunks([&] {
    if (b.rank() == 0) {
      b.copy({b.output()}, b.input());
      b.put(b.input(), {1}, ch);
      b.wait(1, ch, b.output());
      b.credit(1, ch, b.output());
      return;
    }
    b.wait(0, ch, b.output());
    b.copy({b.output()}, b.input_of(0));
    b.signal({0}, ch, b.output());
    b.credit(0, ch, b.output());
  });
}

const std::vector<Wrong> kRace = {
    {"not_ready", kBroadcast, 2, pull_broadcast(Omit::kReady), Fault::kRace, 1, "copy",
     "reaches into a buffer of rank 0 before"},
    {"returns_before_read", kBroadcast, 2, pull_broadcast(Omit::kAcknowledge), Fault::kRace, 1,
     "copy", "rank 0 may have given back"},
    {"not_acknowledged", kBroadcast, 3, pull_broadcast(Omit::kAcknowledge), Fault::kRace, 0, kEnd,
     "rank 1 may still read"},
    {"read_before_put_arrives", kBroadcast, 3, eager_relay, Fault::kRace, 1, "copy slot[0]@1",
     "reads what rank 0 writes, in no order"},
    {"same_target", Collective::kGather, 3, same_target, Fault::kRace, 1, "put",
     "writes what rank 2 writes"},
    {"told_by_payload", kBroadcast, 2, told_by_payload, Fault::kRace, 1, "copy",
     "message without payload"},
};
INSTANTIATE_TEST_SUITE_P(Race, WrongPlan, testing::ValuesIn(kRace), name_of_row);

// ------------------------------------------------------------------ slots and puts

void credit_then_read(Builder& b, int ch) {
  b.wait(0, ch, b.output());
  b.credit(0, ch, b.output());
  b.copy({b.output()}, b.slot(0, ch));
}

void fill_twice(Builder& b, int ch) {
  b.copy({b.slot(ch)}, b.input());
  b.copy({b.slot(ch)}, b.input());
  b.signal({1}, ch, b.input());
}

void fill_then_put(Builder& b, int ch) {
  b.copy({b.slot(ch)}, b.input());
  b.put(b.input(), {1}, ch);
}

// All put their inputs and sum: in place that writes what others may still read.
void put_one_shot(Builder& b) {
  int ch = b.channel(2), peer = 1 - b.rank();
  b.chunks([&] {
    b.put(b.input(), {peer}, ch);
    b.wait(peer, ch, b.input());
    b.reduce({b.output()}, {b.input(), b.slot(peer, ch)}, Builder::kLast);
    b.credit(peer, ch, b.input());
  });
}

const std::vector<Wrong> kSlot = {
    {"read_after_credit", kBroadcast, 2, root_and_leaf(send_chunk, credit_then_read),
     Fault::kSlotReuse, 1, "copy", "has credited"},
    {"filled_twice", kBroadcast, 2, root_and_leaf(fill_twice, take_chunk), Fault::kSlotReuse, 0,
     "copy slot[0]", "again"},
    {"put_over_filled", kBroadcast, 2, root_and_leaf(fill_then_put, take_chunk), Fault::kSlotReuse,
     0, "put", "not sent"},
    {"nothing_in_it", kBroadcast, 2,
     root_and_leaf([](Builder& b, int ch) { b.signal({1}, ch, b.input()); }, take_chunk),
     Fault::kSlotReuse, 1, "copy", "no payload"},
    {"put_in_place", kAllreduce, 2, put_one_shot, Fault::kPutSource, 1, "reduce!",
     "rank 0 may still read"},
    {"put_read_late", kAllreduce, 2, put_one_shot, Fault::kPutSource, 0, "reduce!",
     "may have been written"},
    {"put_not_flushed", kAllreduce, 3, silent_reader(false), Fault::kPutSource, 0, "copy output[0]",
     "rank 1 may still read"},
};
INSTANTIATE_TEST_SUITE_P(Slot, WrongPlan, testing::ValuesIn(kSlot), name_of_row);

}  // namespace
}  // namespace weft

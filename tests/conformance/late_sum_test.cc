// A sum that the next step sends is added up as it is sent, into the reader's memory too: once,
// and to nobody if what it was made of is no longer right.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "conformance/giving_up.h"
#include "plan/partition.h"
#include "support/ranks.h"
#include "weft/builder.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

// None of these plans is an allreduce. Registration proves those of fewer ranks. Ranks that a plan
// does not name have nothing to do.
constexpr int kRanks = 6;

void register_plan(const char* name, void (*write)(Builder&)) {
  Algorithm algorithm;
  algorithm.name = name;
  algorithm.collective = Collective::kAllreduce;
  algorithm.write = [write](Builder& b) {
    if (b.ranks() == kRanks) return write(b);
    b.chunks([&] { b.reduce({b.output()}, {b.input()}, Builder::kLast); });
  };
  algorithm.refuses = [](int ranks, const Params&) {
    return ranks == 1 || ranks == kRanks ? std::string() : "is for one rank or six";
  };
  register_algorithm(std::move(algorithm));
}

void take_block(Builder& b, int from, int block, int ch) {
  b.wait(from, ch, b.output(block));
  b.copy({b.output(block)}, b.slot(from, ch));
  b.credit(from, ch, b.output(block));
}

// Rank 0 doubles what it has and sends it to rank 1, through one slot that is mostly taken.
void write_through_one_slot(Builder& b) {
  const int ch = b.channel(1);
  b.chunks([&] {
    if (b.rank() == 0) {
      b.reduce({b.output(0)}, {b.input(0), b.input(0)}, Builder::kLast);
      b.put({b.output_of(1, 0)}, b.output(0), {1}, ch);
    } else if (b.rank() == 1) {
      take_block(b, 0, 0, ch);
    }
  });
}

// Each of two doubles two blocks of four and then sends them: the sum before a put is not its own.
void write_sums_then_puts(Builder& b) {
  const int me = b.rank(), peer = 1 - me, ch = b.channel(4);
  b.blocks(4, 4);
  if (me > 1) return;
  b.chunks([&] {
    for (int block : {2 * me, 2 * me + 1})
      b.reduce({b.output(block)}, {b.input(block), b.input(block)}, Builder::kLast);
    for (int block : {2 * me, 2 * me + 1})
      b.put({b.output_of(peer, block)}, b.output(block), {peer}, ch);
    for (int block : {2 * peer, 2 * peer + 1}) take_block(b, peer, block, ch);
  });
}

// Twice what the sender has: rank 0, or of the second half rank 1.
void expect_doubled(Communicator& comm, const std::string& algorithm, bool halves, bool symmetric,
                    bool in_place) {
  for (std::size_t count : {0, 3, 1000, 100'003}) {
    std::shared_ptr<void> shared;
    std::vector<float> own(count), other(count);
    float* in = own.data();
    if (symmetric) {
      shared = symmetric_alloc(*comm.fabric(), std::max<std::size_t>(count, 1) * sizeof(float));
      in = static_cast<float*>(shared.get());
    }
    float* const out = in_place ? in : other.data();
    for (int turn = 0; turn < 3; ++turn) {
      const auto value = [&](int rank, std::size_t i) {
        return static_cast<float>(100 * turn + rank + static_cast<int>(i % 7));
      };
      for (std::size_t i = 0; i < count; ++i) in[i] = value(comm.rank(), i);
      Call call{Collective::kAllreduce, in, out, count, DType::kF32};
      call.algorithm = algorithm;
      comm.run(call);
      if (comm.rank() > 1) continue;
      const std::size_t half = Partition::even(count, 4, 64 / sizeof(float)).offset(2);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], 2 * value(halves && i >= half ? 1 : 0, i))
            << algorithm << " of " << count << ", element " << i << ", rank " << comm.rank()
            << (symmetric ? ", symmetric" : "") << (in_place ? ", in place" : "");
    }
  }
}

TEST(LateSum, IsAddedUpOnceAndForItsOwnPut) {
  register_plan("allreduce/through_one_slot", write_through_one_slot);
  register_plan("allreduce/sums_then_puts", write_sums_then_puts);
  run_ranks(kRanks, [](Communicator& comm) {
    for (bool symmetric : {false, true})
      for (bool in_place : {true, false}) {
        expect_doubled(comm, "allreduce/through_one_slot(chunk=4K)", false, symmetric, in_place);
        expect_doubled(comm, "allreduce/sums_then_puts(chunk=4K)", true, symmetric, in_place);
      }
  });
}

// Rank 0 adds the first half of rank 1's input, where it lies, to its own. The sum goes a quarter
// further on, where a part of that half lies: in one chunk, so that all has been read before.
void write_overlapping(Builder& b) {
  const int ch = b.channel(2);
  b.blocks(4, 4);
  if (b.rank() == 1) {
    b.once([&] { b.signal({0}, ch); });
    b.chunks([&] {
      b.wait(0, ch, b.output(1, 2));
      b.copy({b.output(1, 2)}, b.slot(0, ch));
      b.credit(0, ch, b.output(1, 2));
    });
  } else if (b.rank() == 0) {
    b.once([&] {
      b.wait(1, ch);
      b.credit(1, ch);
    });
    b.chunks([&] {
      b.reduce({b.output(0, 2)}, {b.input(0, 2), b.input_of(1, 0, 2)}, Builder::kLast);
      b.put({b.output_of(1, 1, 2)}, b.output(0, 2), {1}, ch);
    });
  }
}

TEST(LateSum, IsNotWrittenOverWhatIsStillToBeRead) {
  register_plan("allreduce/overlapping", write_overlapping);
  constexpr std::size_t kQuarter = 4096;
  run_ranks(kRanks, [](Communicator& comm) {
    const auto memory = symmetric_alloc(*comm.fabric(), 4 * kQuarter * sizeof(float));
    auto* const mine = static_cast<float*>(memory.get());
    const auto value = [](int rank, std::size_t i) {
      return static_cast<float>(rank) * 1000 + static_cast<float>(i % 1009);
    };
    for (std::size_t i = 0; i < 4 * kQuarter; ++i) mine[i] = value(comm.rank(), i);
    Call call{Collective::kAllreduce, mine, mine, 4 * kQuarter, DType::kF32};
    call.algorithm = "allreduce/overlapping(chunk=256K)";
    comm.run(call);
    if (comm.rank() > 1) return;
    for (std::size_t i = 0; i < 2 * kQuarter; ++i)
      ASSERT_EQ(mine[i + static_cast<std::size_t>(comm.rank()) * kQuarter],
                value(0, i) + value(1, i))
          << "rank " << comm.rank() << ", element " << i;
  });
}

// Rank 0 adds rank 1's input, where it lies, to its own, and sends the sum to rank 2.
void write_relay(Builder& b) {
  const int ch = b.channel(2);
  if (b.rank() == 1 || b.rank() == 2) b.once([&] { b.signal({0}, ch); });
  if (b.rank() == 0) {
    b.once([&] {
      for (int peer : {1, 2}) b.wait(peer, ch);
      for (int peer : {1, 2}) b.credit(peer, ch);
    });
    b.chunks([&] {
      b.reduce({b.output(0)}, {b.input(0), b.input_of(1, 0)}, Builder::kLast);
      b.put({b.output_of(2, 0)}, b.output(0), {2}, ch);
    });
    b.once([&] { b.signal({1}, ch); });
  } else if (b.rank() == 2) {
    b.chunks([&] { take_block(b, 0, 0, ch); });
  } else if (b.rank() == 1) {
    b.once([&] {
      b.wait(0, ch);
      b.credit(0, ch);
    });
  }
}

constexpr std::size_t kBytes = 2 << 20;  // one chunk, some hundred microseconds of reading

// Rank 1 aborts `delay` after it has let rank 0 read, and has its buffer back.
void abort_during_a_sum(Communicator& comm, Delay delay) {
  const auto memory = symmetric_alloc(*comm.fabric(), kBytes);
  const std::span mine(static_cast<std::byte*>(memory.get()), kBytes);
  std::ranges::fill(mine, std::byte{1});
  Call call{Collective::kAllreduce, mine.data(), mine.data(), kBytes, DType::kU8};
  call.algorithm = "allreduce/relay(chunk=2M)";
  if (ends_well_although_one_aborts(comm, call, mine, delay) && comm.rank() <= 2) {
    EXPECT_EQ(std::ranges::count(mine, std::byte{2}), kBytes)
        << "rank " << comm.rank() << ", after " << delay.count() << " us";
  }
}

TEST(LateSum, OfAPeerThatAbortsGoesToNobody) {
  if (kFindsRaces)
    GTEST_SKIP() << "the owner's stores and the reader's loads are a race, as wanted";
  register_plan("allreduce/relay", write_relay);
  for (int delay = 0; delay < 1500; delay += 50)
    run_ranks_that_abort(kRanks,
                         [&](Communicator& comm) { abort_during_a_sum(comm, Delay(delay)); });
}

}  // namespace
}  // namespace weft::testing

// What a communicator promises beside right results: order, progress, errors.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "support/ranks.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

template <typename E>
bool is(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const E&) {
    return true;
  } catch (...) {
  }
  return false;
}

TEST(Async, FinishesWithNobodyWaiting) {
  run_ranks(3, [](Communicator& comm) {
    std::vector<float> x(300000, 1.0f);
    std::atomic<bool> finished{false};
    Request request =
        comm.submit({Collective::kAllreduce, x.data(), x.data(), x.size(), DType::kF32});
    request.on_finish([&] { finished.store(true, std::memory_order_release); });
    while (!finished.load(std::memory_order_acquire)) std::this_thread::yield();
    EXPECT_EQ(x.front(), 3.0f);
    EXPECT_EQ(x.back(), 3.0f);
  });
}

TEST(Async, CallbackMaySubmitAndAnotherThreadWait) {
  run_ranks(2, [](Communicator& comm) {
    float first = 1, second = 1;
    Request inner;
    std::atomic<bool> submitted{false};
    Request outer = comm.submit({Collective::kAllreduce, &first, &first, 1, DType::kF32});
    outer.on_finish([&] {
      inner = comm.submit({Collective::kAllreduce, &second, &second, 1, DType::kF32});
      submitted.store(true, std::memory_order_release);
    });
    while (!submitted.load(std::memory_order_acquire)) std::this_thread::yield();
    inner.wait();
    EXPECT_EQ(first + second, 4.0f);
  });
}

// Of one rank, since several would have to agree on the order.
TEST(Async, ThreadsSubmitAtTheSameTime) {
  run_ranks(1, [](Communicator& comm) {
    std::vector<std::thread> threads;
    for (std::size_t me = 1; me <= 4; ++me)
      threads.emplace_back([&comm, me] {
        for (std::size_t turn = 0; turn < 500; ++turn) {
          const std::size_t count = me * 10 + turn % 3;
          std::vector<float> x(count, static_cast<float>(me)), y(count);
          comm.submit({Collective::kAllreduce, x.data(), y.data(), count, DType::kF32}).wait();
          ASSERT_EQ(y, x) << "thread " << me << ", turn " << turn;
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(PointToPoint, BothSendFirstThenReceive) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<int> out(std::size_t{25} << 20), in(out.size());
    std::iota(out.begin(), out.end(), comm.rank());
    int other = 1 - comm.rank();
    Request send = comm.isend(out.data(), out.size(), DType::kI32, other);
    comm.recv(in.data(), in.size(), DType::kI32, other);
    send.wait();
    EXPECT_EQ(in.front(), other);
    EXPECT_EQ(in.back(), other + static_cast<int>(in.size()) - 1);
  });
}

TEST(PointToPoint, LaterTagFirstAndAnySource) {
  run_ranks(3, [](Communicator& comm) {
    constexpr std::size_t kLarge = 100000;
    std::vector<int> data(kLarge, comm.rank());
    if (comm.rank() > 0) {
      Request a = comm.isend(data.data(), kLarge, DType::kI32, 0, 1);
      Request b = comm.isend(data.data(), 3, DType::kI32, 0, 2);
      a.wait();
      b.wait();
      return;
    }
    int seen = 0;
    for (int i = 0; i < 2; ++i) {
      int source = comm.recv(data.data(), 3, DType::kI32, kAnySource, 2);
      EXPECT_EQ(data[0], source);
      seen += source;
    }
    EXPECT_EQ(seen, 3);
    for (int source : {2, 1}) {
      EXPECT_EQ(comm.recv(data.data(), kLarge, DType::kI32, source, 1), source);
      EXPECT_EQ(data.back(), source);
    }
  });
}

TEST(Split, ByColorAndKey) {
  run_ranks(5, [](Communicator& comm) {
    int color = comm.rank() == 4 ? -1 : comm.rank() % 2;
    auto half = comm.split(color, -comm.rank());
    ASSERT_EQ(half == nullptr, color < 0);
    if (!half) return;
    EXPECT_EQ(half->size(), 2);
    EXPECT_EQ(half->rank(), comm.rank() < 2 ? 1 : 0);  // the key turns the order around
    int sum = comm.rank();
    half->allreduce(&sum, &sum, 1, DType::kI32, ReduceOp::kSum);
    EXPECT_EQ(sum, color == 0 ? 2 : 4);
  });
}

TEST(Symmetric, PutsByReferenceInEveryMixture) {
  run_ranks(3, [](Communicator& comm) {
    constexpr std::size_t kCount = 200000;
    std::vector<int> plain(kCount);
    for (int mask = 0; mask < 8; ++mask) {
      auto memory = symmetric_alloc(*comm.fabric(), kCount * sizeof(int));
      bool symmetric = mask >> comm.rank() & 1;
      int* data = symmetric ? static_cast<int*>(memory.get()) : plain.data();
      for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<int>(i % 1000) + comm.rank();
      comm.allreduce(data, data, kCount, DType::kI32, ReduceOp::kSum);
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(data[i], static_cast<int>(i % 1000) * 3 + 3) << "mask " << mask << " at " << i;
    }
  });
}

TEST(Symmetric, DirectAllreduceWantsItEverywhere) {
  run_ranks(3, [](Communicator& comm) {
    constexpr std::size_t kCount = 100001;
    auto memory = symmetric_alloc(*comm.fabric(), kCount * sizeof(float));
    auto* x = static_cast<float*>(memory.get());
    // One element: two of the three blocks are empty, and their messages carry no payload.
    for (std::size_t count : {kCount, std::size_t{1}, kCount}) {
      for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 100 + 1);
      Call call{Collective::kAllreduce, x, x, count, DType::kF32};
      call.algorithm = "direct";
      comm.run(call);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(x[i], 3 * static_cast<float>(i % 100 + 1));
    }
  });
  auto errors = try_ranks(2, [](Communicator& comm) {
    std::vector<float> x(1000, 1);
    Call call{Collective::kAllreduce, x.data(), x.data(), x.size(), DType::kF32};
    call.algorithm = "direct";
    comm.run(call);
  });
  for (const auto& error : errors)
    EXPECT_NE(text_of(error).find("symmetric memory"), std::string::npos) << text_of(error);
}

// What the other rank does differently, and what both must name.
struct Disagreement {
  const char* name;
  Call call[2];
  const char* said[2];
};

float buffer[2][64];

const Disagreement kDisagreements[] = {
    {"count",
     {{Collective::kAllreduce, buffer[0], buffer[0], 8, DType::kF32},
      {Collective::kAllreduce, buffer[1], buffer[1], 16, DType::kF32}},
     {"of 8 float32", "of 16 float32"}},
    {"dtype",
     {{Collective::kAllreduce, buffer[0], buffer[0], 8, DType::kF32},
      {Collective::kAllreduce, buffer[1], buffer[1], 8, DType::kI32}},
     {"float32", "int32"}},
    {"reduction",
     {{Collective::kAllreduce, buffer[0], buffer[0], 8, DType::kF32, ReduceOp::kSum},
      {Collective::kAllreduce, buffer[1], buffer[1], 8, DType::kF32, ReduceOp::kMax}},
     {"sum", "max"}},
    {"kind",
     {{Collective::kAllreduce, buffer[0], buffer[0], 8, DType::kF32},
      {Collective::kAllgather, buffer[1], buffer[1] + 8, 8, DType::kF32}},
     {"allreduce", "allgather"}},
};

TEST(Mismatch, BothSidesAreNamedOnEveryRankThatHears) {
  for (const Disagreement& d : kDisagreements) {
    auto errors = try_ranks(2, [&](Communicator& comm) { comm.run(d.call[comm.rank()]); });
    for (const auto& error : errors) {
      EXPECT_TRUE(is<Mismatch>(error) || is<Aborted>(error)) << d.name << ": " << text_of(error);
      for (const char* said : d.said)
        EXPECT_NE(text_of(error).find(said), std::string::npos) << d.name << ": " << text_of(error);
      EXPECT_NE(text_of(error).find("rank 0"), std::string::npos);
      EXPECT_NE(text_of(error).find("rank 1"), std::string::npos);
    }
  }
}

TEST(Mismatch, RootsAndTheRestHearsAnAbort) {
  auto errors = try_ranks(4, [](Communicator& comm) {
    std::vector<int> x(1000);
    comm.broadcast(x.data(), x.size(), DType::kI32, comm.rank() == 2 ? 2 : 0);
    comm.barrier();
  });
  for (const auto& error : errors)
    EXPECT_TRUE(is<Mismatch>(error) || is<Aborted>(error)) << text_of(error);
}

// More than all slots hold, whatever the chunk: with less, neither root waits for anything.
TEST(Mismatch, TwoRootsThatBothSend) {
  auto errors = try_ranks(2, [](Communicator& comm) {
    std::vector<int> x(2 * kSlotBytes / sizeof(int));
    comm.broadcast(x.data(), x.size(), DType::kI32, comm.rank());
  });
  for (const auto& error : errors) {
    EXPECT_TRUE(is<Mismatch>(error) || is<Aborted>(error)) << text_of(error);
    for (const char* said : {"root 0", "root 1"})
      EXPECT_NE(text_of(error).find(said), std::string::npos) << text_of(error);
  }
}

// Some ranks have left before others know that all have joined.
TEST(Leaving, AtOnceAfterASplit) {
  run_ranks(5, [](Communicator& comm) {
    for (int round = 0; round < 50; ++round) (void)comm.split(0, comm.rank());
  });
}

// A reader that has left must not take the slots from those who still read.
TEST(Leaving, WaitsForSlowReaders) {
  for (int round = 0; round < 20; ++round) {
    run_ranks(4, [](Communicator& comm) {
      std::vector<int> x(200000, comm.rank() == 0 ? 7 : 0);
      comm.barrier();
      comm.broadcast(x.data(), x.size(), DType::kI32, 0);
      EXPECT_EQ(x.back(), 7);
    });
  }
}

TEST(Failure, CommunicatorIsDeadAfterwardsAndSaysWhy) {
  auto errors = try_ranks(2, [](Communicator& comm) {
    int x = 0;
    if (comm.rank() == 0) comm.abort("the user pressed the button");
    try {
      comm.allreduce(&x, &x, 1, DType::kI32, ReduceOp::kSum);
      ADD_FAILURE() << "no error";
    } catch (const Aborted& e) {
      EXPECT_NE(std::string(e.what()).find("the button"), std::string::npos) << e.what();
    }
    comm.barrier();
  });
  for (const auto& error : errors) EXPECT_TRUE(is<Aborted>(error)) << text_of(error);
}

TEST(Failure, AStalledPeerIsNamedAtTheDeadline) {
  std::atomic<bool> leave{false};
  auto errors = try_ranks(
      2,
      [&](Communicator& comm) {
        float x = 0;
        comm.allreduce(&x, &x, 1, DType::kF32, ReduceOp::kSum);
        if (comm.rank() == 1) {
          while (!leave.load()) std::this_thread::yield();
          return;
        }
        struct Leave {
          std::atomic<bool>& flag;
          ~Leave() { flag = true; }
        } at_end{leave};
        comm.set_timeout(milliseconds(100));
        comm.allreduce(&x, &x, 1, DType::kF32, ReduceOp::kSum);
      },
      seconds(20));
  EXPECT_TRUE(is<Timeout>(errors[0])) << text_of(errors[0]);
  for (const char* part :
       {"the timeout of 0.1 s is over", "rank 0 waits", "#2", "for rank 1", "has not entered it"})
    EXPECT_NE(text_of(errors[0]).find(part), std::string::npos) << text_of(errors[0]);
  EXPECT_EQ(errors[1], nullptr) << text_of(errors[1]);
}

TEST(Failure, APeerThatLeftIsNamedWithinASecond) {
  auto begin = std::chrono::steady_clock::now();
  auto errors = try_ranks(3, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    comm.barrier();
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(1));
  EXPECT_EQ(errors[1], nullptr);
  for (int rank : {0, 2}) {
    EXPECT_TRUE(is<PeerLost>(errors[rank]) || is<Aborted>(errors[rank])) << text_of(errors[rank]);
    EXPECT_NE(text_of(errors[rank]).find("rank 1"), std::string::npos) << text_of(errors[rank]);
  }
}

TEST(BadCall, IsRefusedHereAndHarmsNothing) {
  run_ranks(2, [](Communicator& comm) {
    float x[8] = {};
    auto run = [&](Call call) { comm.run(call); };
    using C = Collective;
    EXPECT_THROW(run({C::kAllreduce, x, x + 2, 4, DType::kF32}), InvalidArgument);
    EXPECT_THROW(run({C::kAllreduce, nullptr, x, 4, DType::kF32}), InvalidArgument);
    EXPECT_THROW(run({C::kBroadcast, x, x, 4, DType::kF32, ReduceOp::kSum, 2}), InvalidArgument);
    EXPECT_THROW(run({C::kAlltoall, x, x + 1, 2, DType::kF32}), InvalidArgument);
    EXPECT_THROW(run({C::kAllreduce, x, x, 4, DType::kI32, ReduceOp::kAvg}), Unsupported);
    EXPECT_THROW(run({C::kAllreduce, x, x, 4, DType::kF8E4M3, ReduceOp::kSum}), Unsupported);
    EXPECT_THROW(comm.send(x, 1, DType::kF32, comm.rank()), InvalidArgument);
    EXPECT_THROW(comm.send(x, 1, DType::kF32, 5), InvalidArgument);
    EXPECT_THROW(comm.isend(x, 1, DType::kF32, 1 - comm.rank(), -1), InvalidArgument);
    EXPECT_THROW(comm.irecv(x, 1, DType::kF32, kAnySource, -2), InvalidArgument);
    const auto minus_one = static_cast<std::size_t>(-1);  // what a negative count becomes
    const std::size_t counts[] = {5, minus_one};
    for (C each : {C::kAllreduce, C::kBroadcast, C::kReduce, C::kAllgather, C::kReduceScatter,
                   C::kAlltoall, C::kGather, C::kScatter}) {
      EXPECT_THROW(run({each, x, x + 4, minus_one, DType::kF32}), InvalidArgument);
      EXPECT_THROW(run({each, x, x + 4, minus_one / 8, DType::kF32}), InvalidArgument);
      Call late{each, x, x + 4, 1, DType::kF32};
      late.timeout = milliseconds(-1);
      EXPECT_THROW(run(late), InvalidArgument);
    }
    Call uneven{C::kAllgather, x, x + 4, counts[comm.rank()], DType::kF32};
    uneven.output_counts = counts;
    EXPECT_THROW(run(uneven), InvalidArgument);
    EXPECT_THROW(comm.send(x, minus_one, DType::kF32, 1 - comm.rank()), InvalidArgument);
    EXPECT_THROW(comm.set_timeout(milliseconds(-1)), InvalidArgument);
    for (int root : {-1, 2, 1 << 30})
      EXPECT_THROW(run({C::kReduce, x, x, 4, DType::kF32, ReduceOp::kSum, root}), InvalidArgument);
    Call unknown{C::kAllreduce, x, x, 4, DType::kF32};
    unknown.algorithm = "no_such";
    EXPECT_THROW(run(unknown), InvalidArgument);
    float one = 1;
    comm.allreduce(&one, &one, 1, DType::kF32, ReduceOp::kSum);
    EXPECT_EQ(one, 2.0f);
  });
}

}  // namespace
}  // namespace weft::testing

// When a rank that waits goes to sleep: only once nothing has gone for a while.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "conformance/fabrics.h"
#include "support/inner_fabric.h"
#include "support/ranks.h"

namespace weft::testing {
namespace {

// Two ranks that take turns: each goes on only while the other sleeps.
class Turn {
 public:
  void await_own(int rank) {
    await("the other rank's sleep", [&] { return over_ || turn_ == rank; });
  }
  void give_away(int rank) { turn_ = 1 - rank; }
  void end() { over_ = true; }

 private:
  std::atomic<int> turn_{0};
  std::atomic<bool> over_{false};
};

// Notes how long its rank was awake between two sleeps. Whenever it wakes the other rank has done
// all that it can, so that something goes.
class TurningFabric final : public InnerFabric {
 public:
  TurningFabric(int rank, Turn& turn) : rank_(rank), turn_(turn) {}

  std::uint32_t announce() override {
    if (since_ != Clock::time_point{}) awake_.push_back(Clock::now() - since_);
    return InnerFabric::announce();
  }
  void sleep(std::uint32_t announced) override {
    turn_.give_away(rank_);
    turn_.await_own(rank_);
    InnerFabric::sleep(announced);
    since_ = Clock::now();
  }
  const std::vector<Clock::duration>& awake() const { return awake_; }

 private:
  const int rank_;
  Turn& turn_;
  Clock::time_point since_{};
  std::vector<Clock::duration> awake_{};
};

// Rank 1 sends to rank 0, some chunks at a time: then it has no more slots. `workers` 0: the
// callers alone drive.
void take_turns(int workers, const std::function<void(Communicator&)>& call) {
  Turn turn;
  const auto reader = std::make_shared<TurningFabric>(0, turn);
  const auto sender = std::make_shared<TurningFabric>(1, turn);
  bool crowded = false;
  run_ranks(
      2,
      [&](Communicator& comm) {
        if (comm.rank() == 0) crowded = comm.crowded();
        if (comm.rank() == 1) turn.await_own(1);
        call(comm);
        turn.end();
      },
      [&](int rank, CommunicatorOptions& options) {
        options.fabric = rank == 0 ? reader : sender;
        options.workers.count = workers;
      });
  if (crowded) GTEST_SKIP() << "two ranks share a core";
  ASSERT_GE(reader->awake().size(), 2);
  // The engine looks for 50 us, or yields 500 times. After a single look it would be one.
  for (const Clock::duration awake : reader->awake())
    EXPECT_GT(awake, std::chrono::microseconds(20));
}

void gather(Communicator& comm, bool asynchronous) {
  constexpr std::size_t kCount = 1 << 16;
  const std::vector<float> mine(kCount, static_cast<float>(comm.rank()));
  std::vector<float> all(2 * kCount, -1.0F), expected(2 * kCount, 0.0F);
  std::fill_n(expected.begin() + kCount, kCount, 1.0F);
  Call call{Collective::kGather, mine.data(), all.data(), kCount, DType::kF32};
  call.algorithm = "gather/direct(chunk=4K)";
  asynchronous ? comm.submit(call).wait() : comm.run(call);
  if (comm.rank() > 0) return;
  EXPECT_EQ(all, expected);
}

TEST(Patience, IsNewWheneverSomethingWent) {
  take_turns(1, [](Communicator& comm) { gather(comm, false); });
}

TEST(Patience, IsNewWheneverSomethingOfAnAsynchronousCallWent) {
  take_turns(0, [](Communicator& comm) { gather(comm, true); });
}

TEST(Patience, IsNewWheneverSomethingOfATransferWent) {
  take_turns(0, [](Communicator& comm) {
    std::vector<float> x(1 << 20, static_cast<float>(comm.rank()));
    if (comm.rank() == 1) return comm.send(x.data(), x.size(), DType::kF32, 0);
    comm.recv(x.data(), x.size(), DType::kF32, 1);
    EXPECT_EQ(x, std::vector<float>(x.size(), 1.0F));
  });
}

}  // namespace
}  // namespace weft::testing

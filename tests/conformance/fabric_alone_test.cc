// What fabric.h promises of a fabric by itself, or towards one that does not play along.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "conformance/fabrics.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;

class FabricAloneTest : public ::testing::TestWithParam<FabricKind> {};

TEST_P(FabricAloneTest, RingWakesTheOwnSleepers) {
  const auto fabric = GetParam().make();
  std::atomic<bool> work{false};
  std::thread worker([&] {
    for (int i = 0; i < 300; ++i) {
      work.store(true, std::memory_order_release);
      fabric->ring();
      await("work taken", [&] { return !work.load(std::memory_order_acquire); });
    }
  });
  for (int i = 0; i < 300; ++i) {
    while (!work.load(std::memory_order_acquire)) {
      const std::uint32_t bell = fabric->announce();
      if (work.load(std::memory_order_acquire)) {
        fabric->retire();
      } else {
        fabric->sleep(bell);
      }
    }
    work.store(false, std::memory_order_release);
  }
  worker.join();
}

TEST_P(FabricAloneTest, LocateFindsWhatLiesWholeInSymmetricMemory) {
  const auto fabric = GetParam().make();
  int local = 0;
  EXPECT_FALSE(fabric->locate(&local, sizeof local)) << "nothing is symmetric yet";
  const SymmetricBlock a = fabric->allocate(10000);
  const SymmetricBlock b = fabric->allocate(3 << 20);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const SymmetricBlock& block : {a, b}) {
      EXPECT_EQ(fabric->locate(block.data, block.bytes).bits, block.where.bits);
      EXPECT_EQ(fabric->locate(block.data + 5000, 5000).bits, (block.where + 5000).bits);
      EXPECT_EQ(fabric->locate(block.data + 5000, 1).bits, (block.where + 5000).bits);
      EXPECT_FALSE(fabric->locate(block.data, block.bytes + 1)) << "ends outside";
      EXPECT_FALSE(fabric->locate(block.data - 1, 2)) << "begins outside";
      EXPECT_FALSE(fabric->locate(&local, sizeof local));
    }
  }
  std::thread([&] { EXPECT_EQ(fabric->locate(a.data, 8).bits, a.where.bits); }).join();
  fabric->release(a);
  EXPECT_FALSE(fabric->locate(a.data, 8)) << "released";
  EXPECT_EQ(fabric->locate(b.data, 8).bits, b.where.bits);
  EXPECT_THROW(fabric->release(a), InvalidArgument) << "twice";
  fabric->release(b);
}

TEST_P(FabricAloneTest, LocateFindsNothingOfAnotherFabric) {
  if (!ranks_are_threads()) GTEST_SKIP() << "a process that is a rank has one fabric";
  const auto fabric = GetParam().make(), other = GetParam().make();
  const SymmetricBlock block = fabric->allocate(10000);
  EXPECT_FALSE(other->locate(block.data, 8));
  fabric->release(block);
}

TEST_P(FabricAloneTest, SymmetricMemoryIsAlignedZeroedAndKeepsItsFabric) {
  auto fabric = GetParam().make();
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5} << 20}) {
    const SymmetricBlock block = fabric->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 4096, 0u);
    EXPECT_EQ(block.bytes, bytes);
    fabric->release(block);
  }
  EXPECT_THROW(fabric->allocate(SIZE_MAX), InvalidArgument);
  std::shared_ptr<void> memory = symmetric_alloc(*fabric, 4096);
  EXPECT_TRUE(fabric->locate(memory.get(), 4096));
  const std::weak_ptr<Fabric> watched = fabric;
  fabric.reset();
  EXPECT_FALSE(watched.expired()) << "memory in use";
  memory.reset();
  EXPECT_TRUE(watched.expired() || GetParam().quiet) << "those stay with the process";
}

TEST_P(FabricAloneTest, AForkedChildWritesNothingOfItsParents) {
  const auto fabric = GetParam().make();
  for (std::size_t bytes : {std::size_t{4096}, std::size_t{5} << 20}) {
    const SymmetricBlock block = fabric->allocate(bytes);
    std::memset(block.data, 1, bytes);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool inherited = block.data[0] == std::byte{1} && block.data[bytes - 1] == std::byte{1};
      std::memset(block.data, 2, bytes);
      std::_Exit(inherited && block.data[bytes - 1] == std::byte{2} ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    const std::vector<std::byte> expected(bytes, std::byte{1});
    EXPECT_EQ(0, std::memcmp(block.data, expected.data(), bytes));
    fabric->release(block);
  }
}

TEST_P(FabricAloneTest, OpenRefusesMembersThatMakeNoSense) {
  run_fabrics(GetParam(), 2, [](LaneRank& r) {
    const auto addresses = r.exchange("address", r.fabric->address());
    if (r.me != 0) return;
    const std::string &own = addresses[0], &peer = addresses[1];
    const auto open = [&](std::vector<std::string> members, int me) {
      return r.fabric->open(members, me, patience());
    };
    EXPECT_THROW(open({own, peer}, 1), InvalidArgument) << "not the own place";
    EXPECT_THROW(open({own, peer}, 2), InvalidArgument) << "no place at all";
    EXPECT_THROW(open({own, own}, 0), InvalidArgument) << "one fabric for two ranks";
    EXPECT_THROW(open({own, "rubbish"}, 0), InvalidArgument);
    EXPECT_THROW(open({own, peer.substr(0, 20)}, 0), InvalidArgument) << "cut off";
    const auto lane = open({own, peer}, 0);
    EXPECT_THROW(lane->connect({lane->ticket()}, patience()), InvalidArgument) << "one ticket";
    EXPECT_THROW(lane->connect({lane->ticket(), "?"}, patience()), InvalidArgument);
    EXPECT_THROW(lane->connect({lane->ticket(), lane->ticket()}, patience()), InvalidArgument);
    EXPECT_NO_THROW(open({own}, 0)) << "a lane of one rank";
  });
}

TEST_P(FabricAloneTest, ConnectTimesOutOnAMemberThatDoesNotConnect) {
  run_fabrics(GetParam(), 2, [](LaneRank& r) {
    const auto addresses = r.exchange("address", r.fabric->address());
    const auto lane = r.fabric->open(addresses, r.me, patience());
    const auto tickets = r.exchange("ticket", lane->ticket());
    if (r.me != 0) return r.meet("timed out");
    try {
      lane->connect(tickets, Clock::now() + milliseconds(20));
      ADD_FAILURE() << "connected alone";
    } catch (const Timeout& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
    r.meet("timed out");
  });
}

TEST_P(FabricAloneTest, OpenNoticesAFabricThatIsGone) {
  if (GetParam().quiet) GTEST_SKIP() << "without connections only connect() can tell, by a timeout";
  run_fabrics(GetParam(), 2, [](LaneRank& r) {
    const auto addresses = r.exchange("address", r.fabric->address());
    if (r.me != 0) r.fabric.reset();
    r.meet("gone");
    if (r.me != 0) return;
    try {
      r.fabric->open(addresses, 0, patience());
      ADD_FAILURE() << "opened a lane with nobody";
    } catch (const PeerLost& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  });
}
INSTANTIATE_TEST_SUITE_P(Fabrics, FabricAloneTest, ::testing::ValuesIn(fabric_kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing

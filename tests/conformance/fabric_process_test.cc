// What fabric.h promises between processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "conformance/process_pair.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

class FabricProcessTest : public ::testing::TestWithParam<FabricKind> {
 protected:
  // Kills the peer with `kill` and expects that the lane says so in time.
  static void expect_loss(Pair& pair, const std::function<void()>& kill) {
    LaneRank& r = *pair.rank;
    const std::string pid = std::to_string(pair.pid());
    EXPECT_EQ(r.lane->lost(1), "");
    EXPECT_FALSE(r.lane->troubled());
    const auto start = Clock::now();
    kill();
    await("loss", [&] { return r.lane->troubled(); });
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
    EXPECT_NE(r.lane->lost(1).find(pid + " died"), std::string::npos) << r.lane->lost(1);
    EXPECT_EQ(r.lane->why_aborted(), "");
    if (r.loads(1)) {
      EXPECT_THROW(r.lane->reach(1, {std::uint64_t{77} << 40}, 1), PeerLost);
    }
  }
};

TEST_P(FabricProcessTest, ExchangesSmallAndBulkPayloads) {
  Pair pair(GetParam(), "exchange");
  exchange_rounds(*pair.rank);
  EXPECT_EQ(pair.wait(), 0);
}

int shared_mappings() {
  int mappings = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    mappings += line.find("memfd:weft") != std::string::npos;
  }
  return mappings;
}

TEST_P(FabricProcessTest, ReleasedSegmentsDoNotPileUpAtThePeer) {
  Pair pair(GetParam(), "churn");
  const int before = shared_mappings();
  churn(*pair.rank);
  EXPECT_LE(shared_mappings(), before + 3);
  EXPECT_EQ(pair.wait(), 0);
}

TEST_P(FabricProcessTest, AnAbortCrosses) {
  Pair pair(GetParam(), "spin");
  pair.rank->lane->abort("enough");
  EXPECT_EQ(pair.wait(), 0);
}

TEST_P(FabricProcessTest, NoticesAKilledPeer) {
  Pair pair(GetParam(), "stay");
  expect_loss(pair, [&] { pair.kill(); });
}

TEST_P(FabricProcessTest, NoticesAKilledPeerWhileBothSpin) {
  Pair pair(GetParam(), "spin");
  expect_loss(pair, [&] { ::kill(pair.pid(), SIGKILL); });
}

TEST_P(FabricProcessTest, NoticesAKilledPeerWhoseChildLivesOn) {
  Pair pair(GetParam(), "fork");
  std::istringstream grandchild(pair.rank->store.get("grandchild", std::chrono::seconds(30)));
  pid_t pid = 0;
  std::string refused;
  std::getline(grandchild >> pid, refused);
  EXPECT_NE(refused.find("forked"), std::string::npos) << refused;
  expect_loss(pair, [&] { pair.kill(); });
  EXPECT_EQ(::kill(pid, 0), 0) << "it lived all the time";
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
}

// A forked child that ends, with all destructors, leaves the lane and the memory alone.
TEST_P(FabricProcessTest, AForkedChildDisturbsNothing) {
  run_lane(GetParam(), 2, [](LaneRank& r) {
    const int peer = 1 - r.me;
    SymmetricBlock block = r.fabric->allocate(1 << 16);
    fill(block.data, block.bytes, 3);
    r.meet("before");
    if (r.me == 0) {
      const pid_t child = ::fork();
      if (child == 0) {
        int refused = 0;
        const auto expect_refusal = [&](auto call) {
          try {
            call();
          } catch (const Unsupported&) {
            ++refused;
          }
        };
        expect_refusal([&] { r.fabric->allocate(4096); });
        expect_refusal([&] { r.fabric->open({r.fabric->address()}, 0, patience()); });
        expect_refusal([&] { post(*r.lane, peer, 0, 0, {}, nullptr, 0); });
        expect_refusal([&] { r.lane->credit(peer, 0, 1); });
        expect_refusal([&] { r.lane->abort("from the child"); });
        r.fabric->release(block);
        r.lane.reset();
        r.fabric.reset();
        std::_Exit(refused);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(WEXITSTATUS(status), 5);
    }
    r.meet("after");
    EXPECT_FALSE(r.lane->troubled());
    std::vector<std::byte> expected(block.bytes);
    fill(expected.data(), expected.size(), 3);
    EXPECT_EQ(0, std::memcmp(block.data, expected.data(), block.bytes));
    std::uint64_t n = 0;
    post(*r.lane, peer, 0, 0, {}, &n, sizeof n);
    r.await_message(peer, 0, 0);
    r.fabric->release(block);
  });
}

// Descriptors, threads and shared mappings of this process. Files in /dev/shm are anybody's: those
// of Weft's ranks are looked for by testing/launch.py.
std::string belongings() {
  const auto count = [](const char* path) {
    const std::filesystem::directory_iterator all(path);
    return std::to_string(std::distance(begin(all), end(all)));
  };
  return count("/proc/self/fd") + " descriptors, " + count("/proc/self/task") + " threads, " +
         std::to_string(shared_mappings()) + " mappings";
}

// The same, once it no longer changes: the system counts a thread a little longer than its join.
std::string lasting_belongings() {
  std::string before, now = belongings();
  do {
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    now = belongings();
  } while (now != before);
  return now;
}

TEST_P(FabricProcessTest, NothingIsLeftBehind) {
  const auto play = [&] {
    {
      Pair pair(GetParam(), "exchange");
      exchange_rounds(*pair.rank);
      pair.wait();
    }
    {
      Pair pair(GetParam(), "stay");
      pair.kill();
    }
    run_lane(GetParam(), 3, [](LaneRank& r) {
      const SymmetricBlock block = r.fabric->allocate(1 << 22);
      r.fabric->release(block);
    });
  };
  play();  // what is made once for the process
  const std::string before = lasting_belongings();
  play();
  EXPECT_EQ(lasting_belongings(), before);
  EXPECT_NE(before.find(" 0 mappings"), std::string::npos) << before;
}

// A failed call gives its buffers back though a peer stands still in the middle of a store.
TEST_P(FabricProcessTest, WhatAPeerStoresLateIsNotSeen) {
  Pair pair(GetParam(), "store");
  LaneRank& r = *pair.rank;
  const SymmetricBlock block = r.fabric->allocate(kStored);
  fill(block.data, kStored, 3);
  if (!r.loads(1)) return;  // then it stores nothing here
  r.exchange("where", std::to_string(block.where.bits));
  ASSERT_EQ(::waitpid(pair.pid(), nullptr, WUNTRACED), pair.pid());

  r.lane->abort("it stands still");
  const auto start = Clock::now();
  EXPECT_EQ(r.lane->end(Outcome::kFailed), 1);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(3));
  std::byte* const middle = block.data + 4096;
  EXPECT_TRUE(r.fabric->isolate(middle + 10, 100));
  EXPECT_FALSE(r.fabric->locate(middle + 4095, 1));
  EXPECT_FALSE(r.fabric->locate(block.data, kStored));
  EXPECT_EQ(r.fabric->locate(block.data, 4096).bits, block.where.bits);
  EXPECT_EQ(r.fabric->locate(middle + 4096, 4096).bits, (block.where + 2 * 4096).bits);

  ::kill(pair.pid(), SIGCONT);
  EXPECT_EQ(pair.wait(), 0);
  EXPECT_EQ(r.lane->end(Outcome::kFailed), Endpoint::kNobody);
  std::vector<std::byte> expected(kStored);
  fill(expected.data(), kStored, 3);
  EXPECT_EQ(std::memcmp(middle, expected.data() + 4096, 4096), 0);
  EXPECT_EQ(block.data[0], std::byte{7}) << "its neighbours are still shared";
  EXPECT_EQ(middle[4096], std::byte{7});
  r.fabric->release(block);
}

// Of two fabrics in one, each pair has one: they are tested by themselves. One is for threads only.
std::vector<FabricKind> single_kinds() {
  std::vector<FabricKind> kinds = fabric_kinds();
  std::erase_if(kinds, [](const FabricKind& kind) {
    return kind.name == "shm_ofi" || kind.name == "inprocess";
  });
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(Fabrics, FabricProcessTest, ::testing::ValuesIn(single_kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing

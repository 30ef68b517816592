// What fabric.h promises of waiting, and of how lanes and fabrics end.
#include <unistd.h>

#include "conformance/fabric_messages.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

TEST_P(FabricTest, ProgressIsReported) {
  run([&](LaneRank& r) {
    r.lane->begin(100 + static_cast<std::uint64_t>(r.me), {});
    const auto pids = r.exchange("pid", std::to_string(::getpid()));
    r.for_peers([&](int peer) {
      const std::string pid = "process " + pids[static_cast<std::size_t>(peer)] + " ";
      const std::string process = r.lane->about(peer).process;
      EXPECT_EQ(process.find(pid), 0u) << process;
      const std::uint64_t begun = 100 + static_cast<std::uint64_t>(peer);
      await("progress", [&] { return r.lane->last_begun(peer) == begun; });
    });
    r.meet("knows");
  });
}

TEST_P(FabricTest, AnAbortReachesAllWithItsText) {
  run([&](LaneRank& r) {
    EXPECT_FALSE(r.lane->troubled());
    EXPECT_EQ(r.lane->why_aborted(), "");
    r.meet("looked");
    if (r.me == r.size - 1) {
      std::thread([&] { r.lane->abort("rank 7 called broadcast, not allreduce"); }).join();
      r.lane->abort("a second reason");
    }
    await("abort", [&] { return r.hears_of_trouble() && !r.lane->why_aborted().empty(); });
    EXPECT_EQ(r.lane->why_aborted(), "rank 7 called broadcast, not allreduce");
    r.for_peers([&](int peer) { EXPECT_EQ(r.lane->lost(peer), ""); });
  });
}

// On a network an abort waits at most a second for what was sent before. The thread sanitizer makes
// sending slow, so there it is less.
TEST_P(FabricTest, AnAbortPassesByNothingThatWasSentBefore) {
  constexpr std::size_t kBytes = kFindsRaces ? 2 << 20 : 8 << 20;
  run([&](LaneRank& r) {
    const SymmetricBlock block = r.fabric->allocate(kBytes);
    if (r.me == 0) {
      r.for_peers([&](int to) {
        post(*r.lane, to, 0, 0, signature(0, 0), block.data, kBytes, block.where);
      });
      r.lane->abort("no more");
      EXPECT_EQ(r.lane->end(Outcome::kFailed), Endpoint::kNobody);  // what is on its way goes on
    } else {
      await("abort", [&] {
        (void)r.lane->end(Outcome::kDone);  // drives the lane, and looks for no message
        return r.lane->why_aborted() == "no more";
      });
      EXPECT_NE(r.lane->arrival(0, 0, 0), nullptr);
    }
    (void)r.exchange_and_drive("aborted", "");
    r.fabric->release(block);
  });
}

// Whoever reads a payload late finds it whole, or learns that it is gone.
TEST_P(FabricTest, AnAbortMayTakePayloadsAlong) {
  constexpr std::size_t kBytes = 3 << 19;  // more than any fabric sends with the message
  run([&](LaneRank& r) {
    const int failed = r.size - 1;
    const auto expected = payload(kBytes, failed, failed, 0);
    if (r.me == failed) {
      const SymmetricBlock block = r.fabric->allocate(kBytes, MemoryUse::kInternal);
      std::memcpy(block.data, expected.data(), kBytes);
      r.for_peers([&](int to) {
        post(*r.lane, to, 0, 0, signature(failed, 0), block.data, kBytes, block.where);
      });
      (void)r.exchange_and_drive("arrived", "");
      r.lane->abort("no more");
      (void)r.lane->end(Outcome::kFailed);
      r.fabric->release(block);
      r.for_peers([&](int peer) { (void)r.lane->last_begun(peer); });  // they know of the release
      r.meet("released");
      return;
    }
    (void)r.await_message(failed, 0, 0);
    (void)r.exchange_and_drive("arrived", "");
    r.meet("released");
    try {
      const Delivery seen = r.lane->payload(failed, 0, 0, {});
      ASSERT_EQ(seen.bytes, kBytes);
      EXPECT_EQ(0, std::memcmp(seen.data, expected.data(), kBytes));
    } catch (const PeerLost& lost) {
      EXPECT_NE(std::string(lost.what()).find("released"), std::string::npos) << lost.what();
      EXPECT_EQ(r.lane->why_aborted(), "no more") << "the cause is the one to report";
    }
  });
}

TEST_P(FabricTest, AbortsOfAllAtOnceLeaveOneWholeText) {
  run([&](LaneRank& r) {
    r.meet("start");
    const std::string mine(2000, static_cast<char>('a' + r.me));
    r.lane->abort(mine);
    await("abort", [&] { return !r.lane->why_aborted().empty(); });
    const std::string why = r.lane->why_aborted();
    EXPECT_EQ(why, std::string(why.size(), why[0]));
    EXPECT_GT(why.size(), 200u);
    r.meet("aborted");
  });
}

// Its peers have released their ends, and this rank is told so with the memory that it reaches
// next.
TEST_P(FabricTest, AnAbortAfterThePeersHaveLeftTheLane) {
  run([&](LaneRank& r) {
    r.meet("all have joined");
    if (r.me != 0) r.lane.reset();
    const SymmetricBlock block = r.fabric->allocate(1 << 16);
    r.exchange_location(block.where);
    if (r.me == 0) {
      r.for_peers([&](int peer) { (void)r.lane->reach(peer, r.location(peer), 1); });
      r.lane->abort("rank 0 is the last");
      EXPECT_EQ(r.lane->why_aborted(), "rank 0 is the last");
    }
    r.meet("aborted");
    r.fabric->release(block);
  });
}

TEST_P(FabricTest, AFabricThatGoesIsLostWithinASecondButItsMessagesStay) {
  run([&](LaneRank& r) {
    const int leaver = r.size - 1;
    if (r.me == leaver) {
      r.for_peers([&](int to) { send(*r.lane, to, 0, 0, 100, r.me, to); });
    }
    r.meet("sent");
    const auto left = Clock::now();
    if (r.me == leaver) {
      r.lane.reset();
      r.fabric.reset();
      return;
    }
    await("loss", [&] { return r.hears_of_trouble() && !r.lane->lost(leaver).empty(); });
    EXPECT_LT(Clock::now() - left, std::chrono::seconds(1));
    EXPECT_NE(r.lane->lost(leaver).find("left"), std::string::npos) << r.lane->lost(leaver);
    (void)r.await_message(leaver, 0, 0);
    expect_message(*r.lane, leaver, 0, 0, 100, leaver, r.me);
    if (r.loads(leaver)) {
      EXPECT_THROW(r.lane->reach(leaver, {std::uint64_t{77} << 40}, 1), PeerLost);
    }
    // To post, credit and abort towards it disturbs nobody.
    r.lane->credit(leaver, 0, 1);
    send(*r.lane, leaver, 0, 0, 0, r.me, leaver);
    r.for_peers([&](int peer) { EXPECT_EQ(r.lane->lost(peer).empty(), peer != leaver); });
    r.lane->abort("gone");
  });
}

TEST_P(FabricTest, AnEndpointMayOutliveItsFabric) {
  run([&](LaneRank& r) {
    r.fabric.reset();
    r.lane->begin(1, {});
    EXPECT_FALSE(r.lane->ticket().empty());
    r.lane->abort("late");
    EXPECT_EQ(r.lane->why_aborted(), "late");
  });
}

// Ranks pass a number around; who has nothing to do sleeps.
TEST_P(FabricTest, SleepersAreWoken) {
  constexpr std::uint64_t kRounds = 1000;
  run([&](LaneRank& r) {
    const int from = (r.me + r.size - 1) % r.size;
    const int to = (r.me + 1) % r.size;
    std::uint64_t sent = 0;
    const auto send = [&] {
      const std::uint64_t n = sent++;
      post(*r.lane, to, 0, n, signature(r.me, n), &n, sizeof n);
    };
    const auto wait_for = [&](auto ready) {
      for (const auto deadline = patience(); !ready();) {
        if (Clock::now() > deadline) throw std::runtime_error("never woken");
        const std::uint32_t bell = r.fabric->announce();
        if (ready()) {
          r.fabric->retire();
        } else {
          r.fabric->sleep(bell);
        }
      }
    };
    if (r.me == 0) send();
    for (std::uint64_t n = 0; n < kRounds; ++n) {
      wait_for([&] { return r.lane->arrival(from, 0, n) != nullptr; });
      r.lane->credit(from, 0, n + 1);
      if (r.me == 0 && n + 1 == kRounds) break;
      wait_for([&] { return r.lane->room(to, 0, sent); });
      send();
    }
  });
}

}  // namespace
}  // namespace weft::testing

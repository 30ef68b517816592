// In which order an engine steps what it drives.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "engine/engine.h"
#include "fabric/inprocess/inprocess_fabric.h"

namespace weft {
namespace {

// Writes its letter into the trace for each trip.
class Traced : public Driven {
 public:
  Traced(Engine& engine, int priority, char letter, int trips, std::string& trace)
      : Driven(priority), engine_(engine), letter_(letter), trips_(trips), trace_(trace) {
    engine_.attach(this);
  }
  ~Traced() override { engine_.detach(this); }

  std::function<bool()> blocked = [] { return false; };

  void add(int trips) { trips_ += trips; }
  bool pending() const override { return trips_ > 0; }
  bool step(bool, Pace pace, Finished&) override {
    bool moved = false;
    while (pending() && !blocked()) {
      --trips_;
      moved = true;
      trace_ += letter_;
      if (pace == Pace::kOneTrip) break;
    }
    return moved;
  }

 private:
  Engine& engine_;
  const char letter_;
  int trips_;
  std::string& trace_;
};

class EnginePriority : public ::testing::Test {
 protected:
  // On this thread: nothing wakes the progress thread.
  void drive(std::size_t trips) {
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    ASSERT_TRUE(engine->drive_until([&] { return trace.size() >= trips; }, deadline, {})) << trace;
  }

  const std::shared_ptr<Engine> engine = Engine::of(make_inprocess_fabric());
  std::string trace;
};

TEST_F(EnginePriority, TheHighestGoesFirst) {
  Traced low(*engine, -1, 'l', 3, trace), middle(*engine, 0, 'm', 2, trace);
  Traced high(*engine, 7, 'h', 3, trace);
  drive(8);
  EXPECT_EQ(trace, "hhhmmlll");
}

TEST_F(EnginePriority, OvertakesAtTheEndOfATrip) {
  Traced low(*engine, 0, 'l', 6, trace), high(*engine, 1, 'h', 0, trace);
  low.blocked = [&] {
    if (trace == "ll") high.add(2);
    return false;
  };
  drive(8);
  EXPECT_EQ(trace, "lllhhlll") << "the trip during which it comes, and no other";
}

TEST_F(EnginePriority, ABlockedOneLetsLowerOnesGo) {
  Traced low(*engine, 0, 'l', 5, trace), high(*engine, 1, 'h', 2, trace);
  high.blocked = [&] { return trace.size() < 2; };
  drive(7);
  EXPECT_EQ(trace, "llhhlll");
}

// Lets something move each time that `period` has passed, and not in between.
std::function<bool()> each(std::chrono::milliseconds period) {
  return [period, next = Clock::time_point{}]() mutable {
    if (Clock::now() < next) return true;
    next = Clock::now() + period;
    return false;
  };
}

// The longest time between two looks of the engine. Longer ones than this say that the system had
// taken the core away: then the engine sees another pace, and a lower one rightly goes.
struct Gaps {
  static constexpr std::chrono::microseconds kDisturbed{1500};
  Clock::time_point last = Clock::now();
  Clock::duration longest{};
  void look() {
    const auto now = Clock::now();
    longest = std::max(longest, now - last);
    last = now;
  }
};

TEST_F(EnginePriority, OneThatMovesKeepsLowerOnesBackBetweenItsMoves) {
  for (int attempt = 0; attempt < 500; ++attempt) {
    trace.clear();
    Traced low(*engine, 0, 'l', 1 << 30, trace), high(*engine, 1, 'h', 4, trace);
    Gaps gaps;
    high.blocked = [&, when = each(std::chrono::milliseconds(4))]() mutable {
      gaps.look();
      return when();
    };
    ASSERT_TRUE(engine->drive_until([&] { return !high.pending(); },
                                    Clock::now() + std::chrono::seconds(20), {}));
    if (gaps.longest > Gaps::kDisturbed) continue;
    const std::size_t second = trace.find('h', 1);
    EXPECT_EQ(trace.substr(second, 3), "hhh") << "from the second on its pace is known";
    return;
  }
  FAIL() << "the system took the core away in each of 500 attempts";
}

TEST_F(EnginePriority, OneThatStandsStillKeepsNobodyBackForLong) {
  Traced low(*engine, 0, 'l', 1 << 30, trace), high(*engine, 1, 'h', 1 << 30, trace);
  int moves = 0;
  high.blocked = [&, when = each(std::chrono::milliseconds(4))]() mutable {
    return moves == 4 || when() || (++moves, false);
  };
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  const auto goes = [&] { return moves == 4 && trace.ends_with("l"); };
  EXPECT_TRUE(engine->drive_until(goes, deadline, {}));
}

TEST_F(EnginePriority, OneThatAlwaysMovesDoesNotStarveOthers) {
  Traced low(*engine, 0, 'l', 4, trace), high(*engine, 1, 'h', 1 << 30, trace);
  high.blocked = each(std::chrono::milliseconds(8));
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  EXPECT_TRUE(engine->drive_until([&] { return !low.pending(); }, deadline, {}));
}

TEST_F(EnginePriority, OutrankedEqualsTakeTurns) {
  Traced a(*engine, 0, 'a', 3, trace), b(*engine, 0, 'b', 3, trace), c(*engine, 0, 'c', 3, trace);
  Traced high(*engine, 1, 'h', 0, trace);
  drive(9);
  EXPECT_EQ(trace, "abcabcabc");
}

TEST_F(EnginePriority, WithOnePriorityNobodyStops) {
  Traced a(*engine, 4, 'a', 3, trace), b(*engine, 4, 'b', 3, trace);
  EXPECT_FALSE(a.outranked());
  {
    Traced high(*engine, 5, 'h', 0, trace);
    EXPECT_TRUE(a.outranked());
  }
  EXPECT_FALSE(a.outranked()) << "the higher one is gone";
  drive(6);
  EXPECT_EQ(trace, "aaabbb");
}

}  // namespace
}  // namespace weft

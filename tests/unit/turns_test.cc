// In which order an engine steps what it drives.
#include "engine/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "engine/engine.h"
#include "fabric/inprocess/inprocess_fabric.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

// Writes its letter into the trace for each trip. `of`: Turns or Engine.
template <typename Of>
class Traced : public Driven {
 public:
  Traced(Of& of, int priority, char letter, int trips, std::string& trace)
      : Driven(priority), of_(of), letter_(letter), trips_(trips), trace_(trace) {
    of_.attach(this);
  }
  ~Traced() override { of_.detach(this); }

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
  Of& of_;
  const char letter_;
  int trips_;
  std::string& trace_;
};

class TurnsTest : public ::testing::Test {
 protected:
  using Letters = Traced<Turns>;

  // The time is simulated: a core that is taken away disturbs nothing.
  void step() { turns.step(false, now, finished); }
  void drive(std::size_t trips) {
    for (int steps = 0; trace.size() < trips && steps < 100; ++steps) step();
  }
  // Lets something move each time that `period` has passed, and not in between.
  std::function<bool()> each(milliseconds period) {
    return [this, period, next = now]() mutable {
      if (now < next) return true;
      next = now + period;
      return false;
    };
  }
  void drive_for(milliseconds time) {
    for (const auto end = now + time; now < end; now += milliseconds(1)) step();
  }

  static constexpr int kForever = 1 << 30;
  Turns turns;
  Clock::time_point now{std::chrono::hours(1)};
  Driven::Finished finished;
  std::string trace;
};

TEST_F(TurnsTest, TheHighestGoesFirst) {
  Letters low(turns, -1, 'l', 3, trace), middle(turns, 0, 'm', 2, trace);
  Letters high(turns, 7, 'h', 3, trace);
  drive(8);
  EXPECT_EQ(trace, "hhhmmlll");
}

TEST_F(TurnsTest, OvertakesAtTheEndOfATrip) {
  Letters low(turns, 0, 'l', 6, trace), high(turns, 1, 'h', 0, trace);
  low.blocked = [&] {
    if (trace == "ll") high.add(2);
    return false;
  };
  drive(8);
  EXPECT_EQ(trace, "lllhhlll") << "the trip during which it comes, and no other";
}

TEST_F(TurnsTest, ABlockedOneLetsLowerOnesGo) {
  Letters low(turns, 0, 'l', 5, trace), high(turns, 1, 'h', 2, trace);
  high.blocked = [&] { return trace.size() < 2; };
  drive(7);
  EXPECT_EQ(trace, "llhhlll");
}

TEST_F(TurnsTest, OneThatMovesKeepsLowerOnesBackBetweenItsMoves) {
  Letters low(turns, 0, 'l', kForever, trace), high(turns, 1, 'h', 4, trace);
  high.blocked = each(milliseconds(4));
  drive_for(milliseconds(20));
  EXPECT_EQ(trace, "hllllhhhllllllll") << "from the second on its pace is known, until it ends";
}

// From its last move on, four times its pace and at most 20 ms.
TEST_F(TurnsTest, OneThatStandsStillKeepsLowerOnesBackByItsPace) {
  struct Row {
    milliseconds pace;
    std::size_t kept_back;  // looks, one each ms, after the one at which it moved last
  };
  for (const Row& row : {Row{milliseconds(1), 3}, Row{milliseconds(4), 15},
                         Row{milliseconds(5), 19}, Row{milliseconds(15), 19}}) {
    Letters low(turns, 0, 'l', kForever, trace), high(turns, 1, 'h', 3, trace);
    high.blocked = each(row.pace);
    drive_for(row.pace + milliseconds(1));
    ASSERT_EQ(std::ranges::count(trace, 'h'), 2) << trace;
    trace.clear();
    high.blocked = [] { return true; };
    drive_for(milliseconds(40));
    EXPECT_EQ(trace, std::string(40 - row.kept_back, 'l')) << row.pace.count() << " ms";
    trace.clear();
  }
}

// Several moves may follow one arrival: the longer times between moves count, an eighth less each.
TEST_F(TurnsTest, ThePaceIsThatOfArrivals) {
  Letters low(turns, 0, 'l', kForever, trace), high(turns, 1, 'h', 4, trace);
  high.blocked = [&, start = now, move = 0]() mutable {
    constexpr milliseconds kMoves[] = {milliseconds(0), milliseconds(4), milliseconds(5)};
    return move == 3 || now - start < kMoves[move] || (++move, false);
  };
  drive_for(milliseconds(6));
  ASSERT_EQ(std::ranges::count(trace, 'h'), 3) << trace;
  trace.clear();
  high.blocked = [] { return true; };
  drive_for(milliseconds(20));
  EXPECT_EQ(trace, "lllllll") << "14 ms after its last move, then each ms";
}

TEST_F(TurnsTest, OneThatAlwaysMovesDoesNotStarveOthers) {
  Letters low(turns, 0, 'l', kForever, trace), high(turns, 1, 'h', kForever, trace);
  high.blocked = each(milliseconds(8));
  drive_for(milliseconds(200));
  const auto tail = trace.substr(trace.size() - 20);
  EXPECT_TRUE(tail.find('l') != tail.npos && tail.find('h') != tail.npos) << trace;
}

TEST_F(TurnsTest, OutrankedEqualsTakeTurns) {
  Letters a(turns, 0, 'a', 3, trace), b(turns, 0, 'b', 3, trace), c(turns, 0, 'c', 3, trace);
  Letters high(turns, 1, 'h', 0, trace);
  drive(9);
  EXPECT_EQ(trace, "abcabcabc");
}

TEST_F(TurnsTest, WithOnePriorityNobodyStops) {
  Letters a(turns, 4, 'a', 3, trace), b(turns, 4, 'b', 3, trace);
  EXPECT_FALSE(a.outranked() || turns.timed());
  {
    Letters high(turns, 5, 'h', 0, trace);
    EXPECT_TRUE(a.outranked() && turns.timed());
  }
  EXPECT_FALSE(a.outranked() || turns.timed()) << "the higher one is gone";
  drive(6);
  EXPECT_EQ(trace, "aaabbb");
}

// The engine tells the time: with none the lower one would go each time, or never.
TEST(EngineTurns, OneThatMovesKeepsLowerOnesBackUntilItStandsStill) {
  const std::shared_ptr<Engine> engine = Engine::of(make_inprocess_fabric());
  std::string trace;
  Traced low(*engine, 0, 'l', 1 << 30, trace), high(*engine, 1, 'h', 1 << 30, trace);
  int moves = 0, asked = 0;
  high.blocked = [&] { return moves == 50 || asked++ % 2 == 0 || (++moves, false); };
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  const auto goes = [&] { return moves == 50 && trace.ends_with("l"); };
  EXPECT_TRUE(engine->drive_until(goes, deadline, {}));
  EXPECT_NE(trace.find("hh"), trace.npos) << trace;
}

}  // namespace
}  // namespace weft

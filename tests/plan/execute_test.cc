// execute/machine.h: what holds a step back, and what lets it go, whatever the domain.
#include "execute/machine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using execute::Hold;

struct Types {
  using Entry = execute::Entry;
  using Stream = execute::Stream;
  using Slot = execute::Slot;
  using Rank = execute::Rank;
};

// Counts steps. Messages can be seen at once, or when the test says so.
class Toy : public execute::Machine<Toy, Types> {
 public:
  Toy(std::vector<Program> programs, std::vector<Channel> channels, int depth, bool at_once = true)
      : Machine(static_cast<int>(programs.size()), static_cast<int>(channels.size()), depth),
        programs_(std::move(programs)),
        channels_(std::move(channels)),
        at_once_(at_once),
        done_(programs_.size()) {
    for (const Program& program : programs_)
      prepared_.emplace_back(program, Partition(), Partition(), 1);
    for (std::size_t rank = programs_.size(); rank > 0; --rank)
      ready_.push_back(static_cast<int>(rank) - 1);
    run_ready();
  }

  // Steps that the rank has done, why it does no more, and for whom it waits.
  int done(int rank) const { return done_[static_cast<std::size_t>(rank)]; }
  Hold::Why why(int rank) const { return state(rank).hold.why; }
  int waits_for(int rank) {
    const execute::Stream& stream = streams_[holder(rank)];
    return stream.from == rank ? stream.to : stream.from;
  }
  bool through(int rank) const { return state(rank).through; }
  // The next message that was not shown, or whose source was not read.
  void show_next() {
    show(streams_.entry(hidden_++));
    run_ready();
  }
  void read_next() {
    read(streams_.entry(unread_++));
    run_ready();
  }

 private:
  friend execute::Machine<Toy, Types>;

  int peer_of(int, const Index& index) const { return index.base; }
  void enter(int rank) { begin(rank, prepared_[static_cast<std::size_t>(rank)], channels_); }
  bool leave(int) { return false; }
  void step(int rank) {
    perform(rank);
    ++done_[static_cast<std::size_t>(rank)];
  }
  void copy(int) {}
  void reduce(int) {}
  void flush(int) {}
  void put(int rank) { post(rank, true); }
  void signal(int rank) { post(rank, false); }
  void post(int rank, bool unread) {
    send(rank, unread, [this](std::size_t, std::int32_t entry) {
      if (at_once_) show(streams_.entry(entry));
    });
  }
  void wait(int, std::int32_t) {}
  bool credit(int, std::int32_t) { return true; }
  void nothing_to_credit(int) { stopped_ = true; }

  std::vector<Program> programs_;
  std::vector<Channel> channels_;
  std::vector<PreparedProgram> prepared_;
  bool at_once_;
  std::vector<int> done_;
  std::int32_t hidden_ = 0, unread_ = 0;
};

Step step(Verb verb, std::vector<Index> peers = {}) {
  Step made;
  made.verb = verb;
  made.peers = std::move(peers);
  made.extent.blocks = 0;
  return made;
}
Step put(std::vector<Index> peers) { return step(Verb::kPut, std::move(peers)); }
Step signal(std::vector<Index> peers) { return step(Verb::kSignal, std::move(peers)); }
Step wait(int from) { return step(Verb::kWait, {from}); }
Step credit(int from) { return step(Verb::kCredit, {from}); }
Step flush() { return step(Verb::kFlush); }
Step fill() {
  Step made = step(Verb::kCopy);
  made.dst.push_back({Buffer::kSlot, 0, {}, 0});
  return made;
}

Program program(std::vector<Step> steps, int rounds = 1) {
  return {{rounds, true, std::move(steps)}};
}

TEST(Execute, AMailboxHoldsSoManyMessages) {
  for (int depth : {1, 2, 3, 8}) {
    const Toy nothing_credited({program({signal({1})}, 20), program({wait(0)}, 20)}, {{20}}, depth);
    EXPECT_EQ(nothing_credited.done(0), depth);
    EXPECT_EQ(nothing_credited.why(0), Hold::kMailbox);
    // The reader returns three of them.
    Program three = program({wait(0), credit(0)}, 3);
    three.push_back({17, true, {wait(0)}});
    Toy three_credited({program({signal({1})}, 20), three}, {{20}}, depth);
    EXPECT_EQ(three_credited.done(0), depth + 3);
    EXPECT_EQ(three_credited.waits_for(0), 1);
  }
}

TEST(Execute, MessagesComeInOrderThroughAMailboxThatTurns) {
  const Toy toy({program({signal({1})}, 50), program({wait(0), credit(0)}, 50)}, {{1}}, 3);
  EXPECT_TRUE(toy.through(0));
  EXPECT_TRUE(toy.through(1));
}

TEST(Execute, ASlotIsFreeWhenAllItsReadersHaveReturnedIt) {
  const Program sender = program({fill(), signal({1, 2}), fill()});
  const Program returns = program({wait(0), credit(0)}), keeps = program({wait(0)});
  Toy one_keeps({sender, returns, keeps}, {{1}}, 8);
  EXPECT_EQ(one_keeps.why(0), Hold::kSlot);
  EXPECT_EQ(one_keeps.done(0), 2);
  EXPECT_EQ(one_keeps.waits_for(0), 2);
  EXPECT_TRUE(Toy({sender, returns, returns}, {{1}}, 8).through(0));
  EXPECT_TRUE(Toy({sender, keeps, keeps}, {{2}}, 8).through(0));
}

// A message without payload takes its turn as well, so ranks agree whose turn it is.
TEST(Execute, EveryMessageTakesATurnOfTheSlots) {
  const Program sender = program({signal({1}), signal({1}), fill()});
  Toy none_credited({sender, program({wait(0), wait(0)})}, {{2}}, 8);
  EXPECT_EQ(none_credited.why(0), Hold::kSlot);
  EXPECT_TRUE(Toy({sender, program({wait(0), credit(0), wait(0)})}, {{2}}, 8).through(0));
}

TEST(Execute, AFlushWaitsUntilPutsAreRead) {
  const Program sender = program({put({1}), flush(), signal({1})});
  Toy kept({sender, program({wait(0)})}, {{4}}, 8);
  EXPECT_EQ(kept.why(0), Hold::kFlush);
  EXPECT_EQ(kept.waits_for(0), 1);
  EXPECT_EQ(kept.done(0), 1);
  // A domain may know of it before the message is credited.
  kept.read_next();
  EXPECT_TRUE(kept.through(0));
  EXPECT_TRUE(Toy({sender, program({wait(0), credit(0)})}, {{4}}, 8).through(0));
  // The end of a program waits for them as well.
  EXPECT_FALSE(Toy({program({put({1})}), program({wait(0)})}, {{4}}, 8).through(0));
}

TEST(Execute, AMessageIsWaitedForUntilItCanBeSeen) {
  Toy toy({program({signal({1})}), program({wait(0)})}, {{1}}, 8, false);
  EXPECT_TRUE(toy.through(0));
  EXPECT_EQ(toy.why(1), Hold::kMessage);
  EXPECT_EQ(toy.waits_for(1), 0);
  toy.show_next();
  EXPECT_TRUE(toy.through(1));
}

TEST(Execute, OnlyWhatWasReceivedIsReturned) {
  const Toy toy({program({signal({1})}), program({credit(0)})}, {{1}}, 8);
  EXPECT_FALSE(toy.through(1));
}

}  // namespace
}  // namespace weft

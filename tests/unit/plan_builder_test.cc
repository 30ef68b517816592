// What the builder writes, and what it refuses.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "weft/builder.h"
#include "weft/error.h"

namespace weft {
namespace {

PlanShape shape_of(Collective collective, int ranks) {
  PlanShape shape;
  shape.algorithm = "test/case";
  shape.collective = collective;
  shape.ranks = ranks;
  return shape;
}

// Rank 1 of 4, four blocks each, channel 0 with two slots.
Builder builder() {
  Builder b(1, shape_of(Collective::kAllreduce, 4));
  b.blocks(4, 4);
  b.channel(2);
  return b;
}

struct Misuse {
  const char* message;  // a part of what is said
  std::function<void(Builder&)> write;
};

using B = Builder;

// In chunks().
const Misuse kInChunks[] = {
    {"names rank 4", [](B& b) { b.put(b.input(), {4}, 0); }},
    {"names rank -1", [](B& b) { b.wait(-1, 0, b.input()); }},
    {"names rank 4", [](B& b) { b.copy({b.output()}, b.input_of(4)); }},
    {"this rank as its peer", [](B& b) { b.put(b.input(), {1}, 0); }},
    {"this rank as its peer", [](B& b) { b.credit(1, 0, b.input()); }},
    {"no rank sends to itself", [](B& b) { b.copy({b.output()}, b.slot(1, 0)); }},
    {"names rank 2 twice", [](B& b) { b.put(b.input(), {2, 2}, 0); }},
    {"no destination", [](B& b) { b.put(b.input(), {}, 0); }},
    {"no destination", [](B& b) { b.signal({}, 0, b.input()); }},
    {"not declared", [](B& b) { b.put(b.input(), {2}, 1); }},
    {"not declared", [](B& b) { b.wait(2, -1, b.input()); }},
    {"not declared", [](B& b) { b.wait(2, 256, b.input()); }},
    {"not declared", [](B& b) { b.copy({b.slot(3)}, b.input()); }},
    {"which has 4", [](B& b) { b.put(b.input(4), {2}, 0); }},
    {"which has 4", [](B& b) { b.put(b.output(3, 2), {2}, 0); }},
    {"which has 4", [](B& b) { b.put(b.input(-1), {2}, 0); }},
    {"which has 4", [](B& b) { b.put(b.input(0, 0), {2}, 0); }},
    {"which has 4", [](B& b) { b.wait(2, 0, b.input(4)); }},
    {"goes with no block", [](B& b) { b.wait(2, 0, b.input(0, 0)); }},
    {"equal size", [](B& b) { b.copy({b.output(0, 2)}, b.input()); }},
    {"equal size", [](B& b) { b.reduce({b.output()}, {b.input(), b.output(0, 2)}, B::kLast); }},
    {"equal size", [](B& b) { b.put({b.output_of(2, 0, 2)}, b.input(), {2}, 0); }},
    {"slot to slot", [](B& b) { b.copy({b.slot(0)}, b.slot(2, 0)); }},
    {"0 destinations", [](B& b) { b.copy({}, b.input()); }},
    {"3 destinations", [](B& b) { b.copy({b.output(0), b.output(1), b.output(2)}, b.input()); }},
    {"no source", [](B& b) { b.reduce({b.output()}, {}, B::kPartial); }},
    {"writes to rank 2", [](B& b) { b.copy({b.output_of(2)}, b.input()); }},
    {"writes to rank 2", [](B& b) { b.copy({b.output(), b.slot(2, 0)}, b.input()); }},
    {"writes to rank 3",
     [](B& b) { b.reduce({b.output_of(3)}, {b.input(), b.output()}, B::kLast); }},
    {"writes to an input", [](B& b) { b.copy({b.input(1)}, b.input()); }},
    {"writes to an input", [](B& b) { b.put({b.input_of(2)}, b.input(), {2}, 0); }},
    {"reads the own slot", [](B& b) { b.copy({b.output()}, b.slot(0)); }},
    {"reads the own slot", [](B& b) { b.reduce({b.output()}, {b.input(), b.slot(0)}, B::kLast); }},
    {"reads the own slot", [](B& b) { b.put(b.slot(0), {2}, 0); }},
    {"puts a received slot on", [](B& b) { b.put(b.slot(2, 0), {3}, 0); }},
    {"puts from a buffer of rank 2", [](B& b) { b.put(b.input_of(2), {3}, 0); }},
    {"into a buffer of rank 3", [](B& b) { b.put({b.output_of(3)}, b.input(), {2}, 0); }},
    {"into a buffer of rank 1", [](B& b) { b.put({b.output()}, b.input(), {2}, 0); }},
    {"slot as the destination of a put", [](B& b) { b.put({b.slot(0)}, b.input(), {2}, 0); }},
    {"a slot as what a message goes with", [](B& b) { b.wait(2, 0, b.slot(2, 0)); }},
    {"a slot as what a message goes with", [](B& b) { b.signal({2}, 0, b.slot(0)); }},
    {"has no range", [](B& b) { b.signal({2}, 0); }},
    {"has no range", [](B& b) { b.wait(2, 0); }},
    {"has no range", [](B& b) { b.credit(2, 0); }},
    {"flush in a once()", [](B& b) { b.flush(); }},
    {"lag(256)", [](B& b) { b.lag(256); }},
    {"lag(-1)", [](B& b) { b.lag(-1); }},
    {"a section in a section", [](B& b) { b.chunks([] {}); }},
    {"a section in a section", [](B& b) { b.once([] {}); }},
    {"blocks() after a section", [](B& b) { b.blocks(2, 2); }},
    {"finish() inside a section", [](B& b) { b.finish(); }},
};

// In once().
const Misuse kInOnce[] = {
    {"a slot in once()", [](B& b) { b.copy({b.slot(0)}, b.input()); }},
    {"a slot in once()", [](B& b) { b.copy({b.output()}, b.slot(2, 0)); }},
    {"a chunk from once()", [](B& b) { b.put(b.input(), {2}, 0); }},
    {"lag() outside of chunks()", [](B& b) { b.lag(1); }},
};

// Outside of any section.
const Misuse kOutside[] = {
    {"outside of a section", [](B& b) { b.copy({b.output()}, b.input()); }},
    {"outside of a section", [](B& b) { b.flush(); }},
    {"outside of a section", [](B& b) { b.signal({2}, 0); }},
    {"lag() outside of chunks()", [](B& b) { b.lag(1); }},
    {"at least one slot", [](B& b) { b.channel(0); }},
    {"more than 8 channels",
     [](B& b) {
       for (int i = 0; i < 8; ++i) b.channel(1);
     }},
    {"at least one block", [](B& b) { b.blocks(0, 4); }},
};

template <typename Write>
void expect_refused(const Misuse& misuse, Write write) {
  SCOPED_TRACE(misuse.message);
  Builder b = builder();
  try {
    write(b);
    FAIL() << "accepted";
  } catch (const InvalidPlan& error) {
    EXPECT_NE(std::string(error.what()).find("test/case, rank 1: "), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(misuse.message), std::string::npos) << error.what();
  }
  // A refused section leaves nothing behind.
  EXPECT_TRUE(b.finish().empty());
}

TEST(Builder, RefusesInChunks) {
  for (const Misuse& m : kInChunks)
    expect_refused(m, [&](Builder& b) { b.chunks([&] { m.write(b); }); });
}

TEST(Builder, RefusesInOnce) {
  for (const Misuse& m : kInOnce)
    expect_refused(m, [&](Builder& b) { b.once([&] { m.write(b); }); });
}

TEST(Builder, RefusesOutsideOfSections) {
  for (const Misuse& m : kOutside) expect_refused(m, m.write);
}

TEST(Builder, RefusesRanksThatAreNotThere) {
  EXPECT_THROW(Builder(4, shape_of(Collective::kBarrier, 4)), InvalidPlan);
  EXPECT_THROW(Builder(-1, shape_of(Collective::kBarrier, 4)), InvalidPlan);
  EXPECT_THROW(Builder(0, shape_of(Collective::kBarrier, 0)), InvalidPlan);
}

struct FixedBlocks {
  Collective collective;
  int input, output;
  bool free;
};

const FixedBlocks kBlocks[] = {
    {Collective::kAllreduce, 1, 1, true},      {Collective::kBroadcast, 1, 1, true},
    {Collective::kReduce, 1, 1, true},         {Collective::kAllgather, 1, 5, false},
    {Collective::kReduceScatter, 5, 1, false}, {Collective::kAlltoall, 5, 5, false},
    {Collective::kGather, 1, 5, false},        {Collective::kScatter, 5, 1, false},
    {Collective::kBarrier, 0, 0, false},       {Collective::kSendRecv, 1, 1, false},
};

TEST(Builder, BlocksAreTheCollectives) {
  for (const FixedBlocks& c : kBlocks) {
    SCOPED_TRACE(name_of(c.collective));
    Builder b(0, shape_of(c.collective, 5));
    EXPECT_EQ(b.shape().input_blocks, c.input);
    EXPECT_EQ(b.shape().output_blocks, c.output);
    if (c.free) {
      b.blocks(3, 3);
      EXPECT_EQ(b.shape().input_blocks, 3);
    } else {
      EXPECT_THROW(b.blocks(3, 3), InvalidPlan);
      if (c.input == 0) continue;
      EXPECT_NO_THROW(b.blocks(c.input, c.output));
    }
  }
}

TEST(Builder, ExtentIsTheFirstRange) {
  Builder b = builder();
  b.chunks([&] {
    b.copy({b.slot(0), b.output(2)}, b.input(1));
    b.reduce({b.slot(0)}, {b.slot(2, 0), b.input(3)}, Builder::kPartial);
    b.put({b.output_of(3, 1, 2)}, b.input(0, 2), {3}, 0);
    b.wait(2, 0, b.output_of(2, 3));
  });
  b.once([&] { b.wait(2, 0); });
  auto program = b.finish();
  ASSERT_EQ(program.size(), 2u);
  const auto& steps = program[0].steps;
  EXPECT_EQ(steps[0].extent, (Range{Buffer::kOutput, 2, 1}));
  EXPECT_EQ(steps[1].extent, (Range{Buffer::kInput, 3, 1}));
  EXPECT_EQ(steps[2].extent, (Range{Buffer::kOutput, 1, 2}));
  EXPECT_EQ(steps[3].extent, (Range{Buffer::kOutput, 3, 1}));
  EXPECT_EQ(program[1].steps[0].extent.blocks, 0);
}

TEST(Builder, LagStartsAtZeroInEachSection) {
  Builder b = builder();
  b.chunks([&] {
    b.put(b.input(0), {2}, 0);
    b.lag(255);
    b.wait(0, 0, b.input(0));
    b.lag(1);
    b.credit(0, 0, b.input(0));
  });
  b.chunks([&] { b.wait(0, 0, b.input(0)); });
  auto program = b.finish();
  EXPECT_EQ(program[0].steps[0].lag, 0);
  EXPECT_EQ(program[0].steps[1].lag, 255);
  EXPECT_EQ(program[0].steps[2].lag, 1);
  EXPECT_EQ(program[1].steps[0].lag, 0);
}

TEST(Builder, OnlyLastReductionsAreLast) {
  Builder b = builder();
  b.chunks([&] {
    b.reduce({b.output()}, {b.input(), b.slot(2, 0)}, Builder::kPartial);
    b.reduce({b.output()}, {b.output(), b.slot(2, 0)}, Builder::kLast);
  });
  auto program = b.finish();
  EXPECT_FALSE(program[0].steps[0].last);
  EXPECT_TRUE(program[0].steps[1].last);
}

TEST(Builder, EmptySectionsAreDropped) {
  Builder b = builder();
  b.chunks([] {});
  b.once([] {});
  EXPECT_TRUE(b.finish().empty());
}

TEST(Builder, SectionsInHalves) {
  Builder b = builder();
  EXPECT_THROW(b.end(), InvalidPlan);
  EXPECT_THROW(b.abandon(), InvalidPlan);
  b.begin(true);
  EXPECT_THROW(b.begin(false), InvalidPlan);
  b.put(b.input(), {2}, 0);
  b.abandon();
  b.begin(false);
  b.copy({b.output()}, b.input());
  b.end();
  Builder whole = builder();
  whole.once([&] { whole.copy({whole.output()}, whole.input()); });
  EXPECT_EQ(b.finish(), whole.finish());
}

TEST(Builder, ParametersRememberTheFallback) {
  auto shape = shape_of(Collective::kReduce, 3);
  shape.params["root"] = 2;
  Builder b(0, shape);
  EXPECT_EQ(b.param("root", 0), 2);
  EXPECT_EQ(b.param("degree", 4), 4);
  EXPECT_EQ(b.param("degree", 5), 4);
  EXPECT_EQ(b.shape().params, (Params{{"degree", 4}, {"root", 2}}));
}

TEST(Builder, ParametersKeepTheirKind) {
  PlanShape shape = shape_of(Collective::kReduce, 3);
  shape.params = {{"order", std::vector{1, 0}}, {"inner", "ring"}};
  Builder b(0, shape);
  EXPECT_EQ(b.unasked(), (std::vector<std::string>{"inner", "order"}));
  EXPECT_EQ(b.param("order", std::vector<int>{}).list(), (std::vector{1, 0}));
  EXPECT_EQ(b.param("inner", "direct").word(), "ring");
  EXPECT_EQ(b.param("outer", "direct").word(), "direct");
  EXPECT_THROW(b.param("inner", 2), InvalidArgument);
  EXPECT_THROW(b.param("order", "ring"), InvalidArgument);
  EXPECT_EQ(b.unasked(), std::vector<std::string>{});
  EXPECT_THROW(Param("two words"), InvalidArgument);
  EXPECT_THROW(Param(3).word(), InvalidArgument);
}

TEST(Builder, SteadySectionsBecomeRounds) {
  Builder b(0, shape_of(Collective::kAlltoall, 5));
  int ch = b.channel(2);
  for (int distance = 1; distance < 5; ++distance)
    b.chunks([&] { b.put(b.input(distance), {distance}, ch); });
  auto program = b.finish();
  ASSERT_EQ(program.size(), 1u);
  EXPECT_EQ(program[0].rounds, 4);
}

TEST(Group, Places) {
  Group all(2, 5);
  EXPECT_EQ(all.size(), 5);
  EXPECT_EQ(all.me(), 2);
  EXPECT_EQ(all.at(-1), 4);
  EXPECT_EQ(all.at(7), 2);
  Group some(4, {6, 4, 1});
  EXPECT_EQ(some.me(), 1);
  EXPECT_EQ(some.at(some.me() + 1), 1);
  EXPECT_EQ(some.at(-3), 6);
  EXPECT_EQ(some.wrap(-4), 2);
}

TEST(Group, Refuses) {
  EXPECT_THROW(Group(0, 0), InvalidPlan);
  EXPECT_THROW(Group(3, 3), InvalidPlan);
  EXPECT_THROW(Group(0, {1, 2}), InvalidPlan);
  EXPECT_THROW(Group(1, {1, 2, 1}), InvalidPlan);
  EXPECT_THROW(Group(0, std::vector<int>{}), InvalidPlan);
}

}  // namespace
}  // namespace weft

// The text form, both ways, and the digest.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "unit/plan_random.h"
#include "weft/error.h"
#include "weft/plan.h"

namespace weft {
namespace {

// Something of everything, as it reads.
const char* const kText = R"(plan allreduce/pair collective=allreduce ranks=2 input=2 output=2
params degree=2 order=[2,0,-1] root=-1 shape=left_1 tree=[]
channel 0 slots=4 wide
channel 1 slots=1
rank 0
  once
    signal 1 on 1
    wait 1 on 1
    credit 1 on 1
    copy output[0, 2] = input[0, 2]
  chunks rounds=2
    put input[(0+1*i)%2] -> 1 on 0
    put output[1]@1 = input[1] -> 1 on 0
    lag 1: wait 1 on 0 for input[1]
    lag 1: reduce output[1], slot[0] = input[1] + slot[0]@1
    lag 2: reduce! output[1] = input[1]@1 + slot[0]@4+(0-1*i)%2
    lag 255: credit (1+1*i)%2 on 0 for output[1, 2]
  once
    flush
rank 1
)";

TEST(Text, IsAFixedPoint) { EXPECT_EQ(to_text(parse_plan(kText)), kText); }

TEST(Text, FreeFormReadsTheSame) {
  auto tidy =
      parse_plan("plan a/b collective=barrier ranks=1 input=0 output=0\nrank 0\n once\n flush");
  auto free = parse_plan(
      "# a comment\n\n  plan a/b collective = barrier ranks= 1 input=0 output =0\r\n"
      "rank 0 # the only one\nonce rounds=1\nflush#\n\n");
  EXPECT_EQ(free, tidy);
}

TEST(Text, RoundTripOfRandomPlans) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Plan plan = test::RandomPlans(seed).plan();
    ASSERT_EQ(parse_plan(to_text(plan)), plan) << to_text(plan);
  }
}

// Whatever is damaged, the answer is a plan that prints as it reads, or an InvalidPlan.
TEST(Text, DamagedTextIsReadOrRefused) {
  int refused = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    test::RandomPlans random(seed);
    std::string text = to_text(random.plan());
    for (int i = random.any(1, 3); i > 0; --i) {
      auto at = static_cast<std::size_t>(random.any(0, static_cast<int>(text.size()) - 1));
      if (random.any(0, 1) == 0)
        text[at] = static_cast<char>(random.any(0, 255));
      else
        text.erase(at, static_cast<std::size_t>(random.any(1, 40)));
    }
    try {
      Plan plan = parse_plan(text);
      ASSERT_EQ(parse_plan(to_text(plan)), plan) << text;
    } catch (const InvalidPlan&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Text, OneStep) {
  Step put;
  put.verb = Verb::kPut;
  Operand source;
  source.range = {Buffer::kInput, 2, 1};
  put.src = {source};
  put.extent = source.range;
  put.peers = {1, Index(1, 2, -1, 3)};
  put.lag = 3;
  EXPECT_EQ(to_text(put), "lag 3: put input[2]@0 -> 1, 1+(2-1*i)%3 on 0");
  put.extent.blocks = 0;
  EXPECT_EQ(to_text(put), "lag 3: put input[2]@0 -> 1, 1+(2-1*i)%3 on 0 for input[2, 0]");
  Step flush;
  flush.verb = Verb::kFlush;
  flush.extent.blocks = 0;
  EXPECT_EQ(to_text(flush), "flush");
}

struct Bad {
  const char* line;     // in place of the step of a plan that is right
  const char* message;  // a part of what is said
};

const Bad kBadSteps[] = {
    {"shove input[0] -> 1 on 0", "a verb"},
    {"putinput[0] -> 1 on 0", "a verb"},
    {"put input[0] -> 1", "expected 'on'"},
    {"put input[0] 1 on 0", "expected '->'"},
    {"put input[0], input[1] -> 1 on 0", "one source"},
    {"put input[x] -> 1 on 0", "a number"},
    {"put input[99999999999] -> 1 on 0", "a number"},
    {"put input[0 -> 1 on 0", "expected ']'"},
    {"put input[(0+1*i)%0] -> 1 on 0", "from 1"},
    {"put input[(0+1*i] -> 1 on 0", "expected '*i)%'"},
    {"put slot[8] -> 1 on 0", "from 0 to 7"},
    {"put input[0] -> 1 on 8", "from 0 to 7"},
    {"copy output[0] input[0]", "expected '='"},
    {"copy output[0] = input[0] + input[1]", "one source"},
    {"copy 3 = input[0]", "input[...] or output[...]"},
    {"lag 256: flush", "from 0 to 255"},
    {"lag 1 flush", "expected ':'"},
    {"copy! output[0] = input[0]", "input[...] or output[...]"},
    {"flush now", "the end of the line"},
    {"wait 1 on 0 for slot[0]", "input[...] or output[...]"},
    {"chunks rounds=0", "from 1"},
    {"chunks twice", "expected 'rounds'"},
    {"rank 2", "expected rank 1"},
    {"channel 1 slots=1", "a verb"},
};

void expect_error(const std::string& text, const std::string& where, const std::string& message) {
  SCOPED_TRACE(text);
  try {
    parse_plan(text);
    FAIL() << "accepted";
  } catch (const InvalidPlan& error) {
    EXPECT_NE(std::string(error.what()).find(where), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(Text, ErrorsNameTheLine) {
  const std::string head =
      "plan a/b collective=allreduce ranks=1 input=1 output=1\n# one\nrank 0\nchunks\n";
  for (const Bad& bad : kBadSteps) expect_error(head + bad.line + "\n", "line 5", bad.message);
}

struct BadHead {
  const char* text;
  const char* where;
  const char* message;
};

const BadHead kBadHeads[] = {
    {"", "line 0", "expected a plan"},
    {"\n# nothing\n", "line 2", "expected a plan"},
    {"rank 0", "line 1", "expected 'plan'"},
    {"plan a/b ranks=1", "line 1", "expected 'collective'"},
    {"plan a/b collective=dance ranks=1 input=1 output=1", "line 1", "dance"},
    {"plan a/b collective=barrier ranks=0 input=1 output=1", "line 1", "from 1"},
    {"plan a/b collective=barrier ranks=2 input=0 output=0\nrank 0", "line 2", "expected 2 ranks"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nflush", "line 2", "channel or rank"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nrank 0\nflush", "line 3",
     "expected chunks or once"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nchannel 1 slots=1", "line 2",
     "expected channel 0"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nchannel 0 slots=0", "line 2", "from 1"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nparams x=1 x=2", "line 2",
     "x is given"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nparams x", "line 2", "expected '='"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nparams x=[1,", "line 2", "a number"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nparams x=[1 y=2", "line 2", "']'"},
    {"plan a/b collective=barrier ranks=1 input=0 output=0\nparams x=a-b", "line 2", "word"},
};

TEST(Text, ErrorsInTheHead) {
  for (const BadHead& bad : kBadHeads) expect_error(bad.text, bad.where, bad.message);
}

TEST(Digest, DiffersWithEveryField) {
  PlanShape base;
  base.algorithm = "allreduce/ring";
  base.collective = Collective::kAllreduce;
  base.ranks = 4;
  base.params = {{"root", 0}};
  base.channels = {{2}};
  std::set<std::uint32_t> seen = {digest(base)};
  auto changed = [&](auto edit) {
    PlanShape shape = base;
    edit(shape);
    return seen.insert(digest(shape)).second;
  };
  EXPECT_TRUE(changed([](PlanShape& s) { s.algorithm = "allreduce/rin"; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.collective = Collective::kReduce; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.ranks = 5; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.params["root"] = 1; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.params = {{"toor", 0}}; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.params["x"] = 0; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.params["root"] = "a"; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.params["root"] = std::vector{0}; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.params.clear(); }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.input_blocks = 4; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.output_blocks = 4; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.channels[0].slots = 3; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.channels[0].width = Width::kWide; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.channels[0].width = Width::kNarrow; }));
  EXPECT_TRUE(changed([](PlanShape& s) { s.channels.push_back({2}); }));
  EXPECT_FALSE(changed([](PlanShape&) {}));
}

// Ranks may run builds for different processors: the number is part of the protocol.
TEST(Digest, IsTheSameEverywhere) {
  PlanShape shape;
  shape.algorithm = "barrier/dissemination";
  shape.ranks = 3;
  EXPECT_EQ(digest(shape), 627740869u);  // computed apart, in Python
}

// Two roots of the same tree must not be taken for each other.
TEST(Digest, NoCollisionsAmongNeighbours) {
  std::set<std::uint32_t> seen;
  int shapes = 0;
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (int root = 0; root < ranks; ++root, ++shapes) {
      PlanShape shape;
      shape.algorithm = "broadcast/tree";
      shape.ranks = ranks;
      shape.params = {{"root", root}};
      seen.insert(digest(shape));
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(shapes));
}

}  // namespace
}  // namespace weft

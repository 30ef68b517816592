// Folding is exact, finds what there is, and depends on the values alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/fold.h"
#include "unit/plan_random.h"

namespace weft {
namespace {

// One section for each value: signal to that rank.
Program signals(const std::vector<int>& peers) {
  Program program;
  for (int peer : peers) {
    Step step;
    step.verb = Verb::kSignal;
    step.peers = {Index(peer)};
    program.push_back({1, false, {step}});
  }
  return program;
}

struct Case {
  const char* what;
  std::vector<int> values;
  std::vector<Index> folded;  // the index of each section that is left
  std::vector<int> rounds;
};

const Case kCases[] = {
    {"alone", {3}, {3}, {1}},
    {"constant", {3, 3, 3}, {3}, {3}},
    {"up", {1, 2, 3}, {{0, 1, 1, 4}}, {3}},
    {"down", {3, 2, 1}, {{0, 3, -1, 4}}, {3}},
    {"by two", {0, 2, 4}, {{0, 0, 2, 5}}, {3}},
    {"ring of four from rank 0", {0, 3, 2, 1}, {{0, 0, -1, 4}}, {4}},
    {"ring of four from rank 2", {2, 1, 0, 3}, {{0, 2, -1, 4}}, {4}},
    {"two turns", {1, 2, 0, 1, 2, 0}, {{0, 1, 1, 3}}, {6}},
    {"by two modulo five", {0, 2, 4, 1, 3}, {{0, 0, 2, 5}}, {5}},
    {"half way round", {0, 2, 0, 2}, {{0, 0, 2, 4}}, {4}},
    {"a window off zero", {5, 6, 7, 4, 5}, {{4, 1, 1, 4}}, {5}},
    {"below zero", {-1, -2, -3}, {{-3, 2, -1, 3}}, {3}},
    {"one, then steady", {0, 0, 1, 2, 3}, {0, {0, 1, 1, 4}}, {2, 3}},
    {"powers of two", {1, 2, 4, 8}, {{0, 1, 1, 3}, {0, 4, 4, 9}}, {2, 2}},
    {"past its modulus", {0, 1, 2, 0, 1, 2, 3}, {{0, 0, 1, 3}, 3}, {6, 1}},
    {"not a window", {0, 1, 2, 1}, {{0, 0, 1, 3}, 1}, {3, 1}},
    {"too far apart", {0, 1 << 30}, {0, 1 << 30}, {1, 1}},
};

TEST(Fold, Cases) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.what);
    auto program = signals(c.values);
    auto folded = fold(program);
    ASSERT_EQ(folded.size(), c.folded.size());
    for (std::size_t i = 0; i < folded.size(); ++i) {
      EXPECT_EQ(folded[i].steps[0].peers[0], c.folded[i]) << "section " << i;
      EXPECT_EQ(folded[i].rounds, c.rounds[i]) << "section " << i;
    }
    EXPECT_EQ(expand(folded), program);
  }
}

TEST(Fold, KeepsWhatIsNotAlike) {
  auto change = [](auto edit) {
    auto program = signals({1, 2});
    edit(program[1]);
    return fold(program).size();
  };
  EXPECT_EQ(change([](Section&) {}), 1u);
  EXPECT_EQ(change([](Section& s) { s.chunked = true; }), 2u);
  EXPECT_EQ(change([](Section& s) { s.steps[0].lag = 1; }), 2u);
  EXPECT_EQ(change([](Section& s) { s.steps[0].channel = 1; }), 2u);
  EXPECT_EQ(change([](Section& s) { s.steps[0].verb = Verb::kWait; }), 2u);
  EXPECT_EQ(change([](Section& s) { s.steps[0].extent.blocks = 2; }), 2u);
  EXPECT_EQ(change([](Section& s) { s.steps[0].peers.push_back(3); }), 2u);
  EXPECT_EQ(change([](Section& s) { s.steps.push_back(s.steps[0]); }), 2u);
  EXPECT_EQ(change([](Section& s) { s.rounds = 2; }), 2u);
}

// One shape that stands still, indexes that wander: the hard case for exactness.
Program wandering(test::RandomPlans& random) {
  Section section;
  for (int i = random.any(1, 3); i > 0; --i) section.steps.push_back(random.step());
  Program program;
  for (int i = random.any(1, 12); i > 0; --i) {
    for (Step& step : section.steps)
      for_each_index(step, [&](Index& index) {
        index = random.any(0, 3) == 0 ? random.any(0, 3) : (index.base + 1) % 4;
      });
    program.push_back(section);
  }
  return program;
}

TEST(Fold, IsExactOnRandomPrograms) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    test::RandomPlans random(seed);
    auto flat = seed % 2 == 0 ? expand(random.program()) : wandering(random);
    if (seed % 2 != 0) flat = expand(flat);
    auto folded = fold(flat);
    ASSERT_EQ(expand(folded), flat) << "seed " << seed;
    ASSERT_EQ(fold(folded), folded) << "seed " << seed;
    ASSERT_LE(folded.size(), flat.size());
  }
}

// Whatever an Index says over some rounds is found again as one section.
TEST(Fold, FindsEveryIndex) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    test::RandomPlans random(seed);
    Section section;
    section.rounds = random.any(1, 20);
    section.steps = {random.step(), random.step()};
    ASSERT_EQ(fold(expand({section})).size(), 1u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft

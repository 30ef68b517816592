// plan/walk.h: in which order the steps of a program run, how often, and on what.
#include "plan/walk.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

// A credit on channel `name`, so that the order can be read off.
Step step(int name, Range extent, int lag = 0) {
  Step made;
  made.verb = Verb::kCredit;
  made.channel = static_cast<std::uint8_t>(name);
  made.lag = static_cast<std::uint8_t>(lag);
  made.extent = std::move(extent);
  return made;
}

Range block(Index number) { return {Buffer::kInput, number, 1}; }
Range nothing() { return {Buffer::kInput, 0, 0}; }

// "name:chunk" of each step that runs, a "|" where another round begins.
std::string walked(const Program& program, const Partition& input, std::size_t chunk) {
  const PreparedProgram prepared(program, input, {}, chunk);
  std::string text;
  std::pair<std::size_t, int> before{0, 0};
  for (Cursor at(prepared); at.step(); at.advance()) {
    if (std::exchange(before, {at.section(), at.round()}) != before) text += "| ";
    text += std::to_string(at.step()->channel) + ":" + std::to_string(at.chunk()) + " ";
  }
  return text;
}

TEST(Walk, AStepThatLagsComesSoManyTripsLater) {
  const Program program = {{1, true, {step(0, block(0)), step(1, block(0), 2)}}};
  EXPECT_EQ(walked(program, Partition::uniform(6, 1), 2), "0:0 0:1 0:2 1:0 1:1 1:2 ");
}

TEST(Walk, AStepOfFewerChunksStopsSooner) {
  const Program program = {{1, true, {step(0, block(0)), step(1, block(1), 1)}}};
  const std::vector<std::size_t> counts = {6, 3};
  EXPECT_EQ(walked(program, Partition::of(counts), 2), "0:0 0:1 1:0 0:2 1:1 ");
}

TEST(Walk, AnEmptyRangeHasOneChunk) {
  const Program program = {{1, true, {step(0, nothing()), step(1, block(0))}}};
  EXPECT_EQ(walked(program, Partition::uniform(4, 1), 2), "0:0 1:0 1:1 ");
  EXPECT_EQ(walked(program, Partition::uniform(0, 1), 2), "0:0 1:0 ");
}

TEST(Walk, RoundsTurnTheBlocks) {
  // Round r works on block 2 - r.
  const Program program = {{3, true, {step(0, block({0, 2, -1, 3}))}},
                           {2, true, {step(1, nothing())}}};
  const std::vector<std::size_t> counts = {1, 4, 2};
  EXPECT_EQ(walked(program, Partition::of(counts), 2), "0:0 | 0:0 0:1 | 0:0 | 1:0 | 1:0 ");
}

TEST(Walk, WhatIsNotCutIntoChunksIsWhole) {
  const Program program = {{1, false, {step(0, block(0)), step(1, block(0))}}};
  EXPECT_EQ(walked(program, Partition::uniform(9, 1), 2), "0:0 1:0 ");
  const PreparedProgram prepared(program, Partition::uniform(9, 1), {}, 2);
  EXPECT_EQ(Cursor(prepared).span().count, 9u);
}

TEST(Walk, TheLastChunkIsWhatIsLeft) {
  const Program program = {{1, true, {step(0, block(0))}}};
  const PreparedProgram prepared(program, Partition::uniform(5, 1), {}, 2);
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  for (Cursor at(prepared); at.step(); at.advance()) {
    EXPECT_EQ(at.extent(), 5u);
    spans.emplace_back(at.span().first, at.span().count);
  }
  const std::vector<std::pair<std::size_t, std::size_t>> expected = {{0, 2}, {2, 2}, {4, 1}};
  EXPECT_EQ(spans, expected);
}

TEST(Walk, EmptyProgramsAndSections) {
  EXPECT_EQ(walked({}, Partition::uniform(4, 1), 2), "");
  EXPECT_EQ(walked({{2, true, {}}, {1, true, {step(0, block(0))}}}, Partition::uniform(2, 1), 2),
            "| 0:0 ");
}

}  // namespace
}  // namespace weft

// Random plans, for properties that hold of all of them. Not plans that would run:
// every field takes every value that its type and the text form allow.
#pragma once

#include <random>

#include "weft/plan.h"

namespace weft::test {

class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : random_(seed) {}

  int any(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  Index index() {
    if (any(0, 1) == 0) return Index(any(0, 9));
    return Index(any(-3, 5), any(-9, 9), any(-9, 9), any(1, 9));
  }

  Range range() { return {any(0, 1) == 0 ? Buffer::kInput : Buffer::kOutput, index(), any(1, 4)}; }

  Operand operand() {
    Operand operand;
    operand.rank = any(0, 1) == 0 ? Index(any(0, 3)) : index();
    if (any(0, 2) == 0) {
      operand.buffer = Buffer::kSlot;
      operand.channel = static_cast<std::uint8_t>(any(0, kMaxChannels - 1));
    } else {
      operand.range = range();
      operand.buffer = operand.range.buffer;
    }
    return operand;
  }

  Step step() {
    Step step;
    step.verb = static_cast<Verb>(any(0, kVerbs - 1));
    if (any(0, 1) == 0) step.lag = static_cast<std::uint8_t>(any(0, 255));
    step.extent = any(0, 2) == 0 ? Range{Buffer::kInput, 0, 0} : range();
    if (step.verb == Verb::kFlush || step.verb == Verb::kNative) return step;
    bool moves = step.verb == Verb::kCopy || step.verb == Verb::kReduce;
    if (step.verb == Verb::kReduce) step.last = any(0, 1) == 0, step.tree = any(0, 1) == 0;
    int dst = moves ? any(1, 2) : step.verb == Verb::kPut ? any(0, 1) : 0;
    int src = step.verb == Verb::kReduce ? any(1, 4) : moves || step.verb == Verb::kPut ? 1 : 0;
    for (int i = 0; i < dst; ++i) step.dst.push_back(operand());
    for (int i = 0; i < src; ++i) step.src.push_back(operand());
    if (moves) return step;
    step.channel = static_cast<std::uint8_t>(any(0, kMaxChannels - 1));
    for (int i = any(1, 3); i > 0; --i) step.peers.push_back(index());
    return step;
  }

  Program program() {
    Program program(static_cast<std::size_t>(any(0, 3)));
    for (Section& section : program) {
      section.rounds = any(1, 5);
      section.chunked = any(0, 1) == 0;
      for (int i = any(1, 4); i > 0; --i) section.steps.push_back(step());
    }
    return program;
  }

  Plan plan() {
    Plan plan;
    plan.shape.algorithm = "allreduce/random";
    plan.shape.collective = static_cast<Collective>(any(0, kCollectives - 1));
    plan.shape.ranks = any(1, 4);
    if (any(0, 1) == 0)
      plan.shape.params = {
          {"degree", any(-5, 5)}, {"order", std::vector{any(0, 3), 1}}, {"kind", "ring"}};
    plan.shape.input_blocks = any(0, 9);
    plan.shape.output_blocks = any(0, 9);
    for (int i = any(0, kMaxChannels); i > 0; --i)
      plan.shape.channels.push_back({any(1, 9), static_cast<Width>(any(0, 2))});
    for (int i = 0; i < plan.shape.ranks; ++i) plan.programs.push_back(program());
    return plan;
  }

 private:
  std::mt19937 random_;
};

}  // namespace weft::test

// How many places slots turn through.
#include "comm/places.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/lent.h"
#include "engine/run.h"
#include "weft/algorithm.h"
#include "weft/registry.h"

namespace weft {
namespace {

constexpr std::size_t operator""_K(unsigned long long n) { return n << 10; }

// Rank 0 of an algorithm for two ranks, each with blocks of so many bytes.
Binding bound(const Algorithm& algorithm, std::size_t block, std::size_t chunk, int ranks = 2) {
  Binding binding;
  binding.plan = std::make_shared<const RankPlan>(make_rank_plan(algorithm, 0, ranks, {}));
  binding.parts = {Partition::uniform(block, binding.plan->shape.input_blocks),
                   Partition::uniform(block, binding.plan->shape.output_blocks)};
  binding.chunk = chunk;
  return binding;
}

std::size_t slots_of(const Binding& binding) {
  std::size_t slots = 0;
  for (const Channel& channel : binding.plan->shape.channels)
    slots += static_cast<std::size_t>(channel.slots);
  return slots;
}

TEST(Places, MessagesSpanTheReuse) {
  const Algorithm direct = find_algorithm("allgather/direct");
  struct Row {
    const char* what;
    std::size_t block, chunk, reuse, times_slots;  // places times slots
    std::size_t most = kNever;
  };
  const Row rows[] = {
      {"chunks fill their slots", 512_K, 64_K, 1024_K, 16},
      {"a block is half a chunk", 64_K, 128_K, 1024_K, 16},
      {"a block fills its chunk", 128_K, 128_K, 1024_K, 8},
      {"as far as the memory goes", 4_K, 256_K, 4096_K, 16},
      {"nothing is reused early", 64_K, 64_K, 0, 0},
      {"no data", 0, 64_K, 1024_K, 0},
      {"a share is less", 512_K, 64_K, 1024_K, 8, 512_K},
      {"what a share does not hold whole", 512_K, 64_K, 512_K - 1, 4, 512_K - 1},
      {"less than the plan's slots", 512_K, 64_K, 64_K, 0, 64_K},
  };
  for (const Row& row : rows) {
    const Binding binding = bound(direct, row.block, row.chunk);
    const std::size_t slots = slots_of(binding);
    ASSERT_GT(slots, 0u);
    const std::size_t expected = std::max<std::size_t>(1, row.times_slots / slots);
    EXPECT_EQ(places_of(binding, {.span = row.reuse, .most = row.most}), expected) << row.what;
  }
}

TEST(Places, CallsLongerThanTheModelSaysHaveOne) {
  const Algorithm direct = find_algorithm("allgather/direct");
  Binding binding = bound(direct, 16_K, 16_K);
  binding.element = 4;
  // Two blocks of 16 Ki elements leave an allgather.
  EXPECT_GT(places_of(binding, {.span = 1024_K, .to = 128_K}), 1u);
  EXPECT_EQ(places_of(binding, {.span = 1024_K, .to = 128_K - 1}), 1u);
}

TEST(Places, SlotsAreLentWhereOneRankSendsToAnotherAndReceives) {
  struct Row {
    const char* algorithm;
    int ranks;
    std::size_t lend_to, longest;
  };
  for (const Row& row :
       {Row{"allgather/direct", 2, 5_K, 5_K}, Row{"allgather/direct", 2, 0, 0},
        Row{"allgather/direct", 2, 1024_K, kLentBytes}, Row{"allreduce/two_shot", 2, 5_K, 5_K},
        Row{"allreduce/one_shot", 2, 5_K, 5_K},   // a copy and a signal are a put
        Row{"allreduce/one_shot", 3, 5_K, 0},     // of two readers
        Row{"broadcast/one_shot", 2, 5_K, 0}}) {  // the root receives nothing
    const Binding binding = bound(find_algorithm(row.algorithm), 16_K, 16_K, row.ranks);
    EXPECT_EQ(lending_of(binding, {.lend_to = row.lend_to}).to, row.longest)
        << row.algorithm << " of " << row.ranks;
  }
}

TEST(Places, ACopyAndASignalOfOneReaderAreAPut) {
  const Binding binding = bound(find_algorithm("allreduce/one_shot"), 16_K, 16_K);
  const std::vector<Step>& steps = binding.plan->program.at(0).steps;
  const Step &copy = steps.at(0), &signal = steps.at(1);
  EXPECT_TRUE(is_put(copy, signal));
  const auto without = [&](const auto& change) {
    std::pair<Step, Step> steps{copy, signal};
    change(steps.first, steps.second);
    return is_put(steps.first, steps.second);
  };
  EXPECT_FALSE(without([](Step& first, Step&) { first.verb = Verb::kReduce; }));
  EXPECT_FALSE(without([](Step&, Step& second) { second.verb = Verb::kPut; }));
  EXPECT_FALSE(without([](Step& first, Step&) { first.src[0].buffer = Buffer::kSlot; }));
  EXPECT_FALSE(without([](Step& first, Step&) { first.dst[0].buffer = Buffer::kOutput; }));
  EXPECT_FALSE(without([](Step& first, Step&) { first.dst.push_back(first.dst[0]); }));
  EXPECT_FALSE(without([](Step&, Step& second) { second.peers.push_back({}); }));
  EXPECT_FALSE(without([](Step&, Step& second) { second.channel = 1; }));
  EXPECT_FALSE(without([](Step&, Step& second) { second.lag = 1; }));
}

// A message is a block, or a chunk of one.
TEST(Places, LentSlotsTurnInCallsWhoseBlocksAreAtMostHalfTheirSpan) {
  const Algorithm direct = find_algorithm("allgather/direct");
  const auto turn = [&](std::size_t block, std::size_t chunk) {
    return lending_of(bound(direct, block, chunk), {.lend_to = 64_K, .lent_span = 256_K}).turn;
  };
  EXPECT_EQ(turn(16_K, 64_K), 16u);
  EXPECT_EQ(turn(48_K, 64_K), 5u);
  EXPECT_EQ(turn(128_K, 64_K), 4u);
  EXPECT_EQ(turn(128_K + 1, 32_K), 1u);
  EXPECT_EQ(turn(16_K - 1, 64_K), 1u) << "16 of them span less";
  EXPECT_EQ(turn(0, 64_K), 1u);
  EXPECT_EQ(lending_of(bound(direct, 16_K, 16_K), {.lend_to = 64_K}).turn, 1u);
}

}  // namespace
}  // namespace weft

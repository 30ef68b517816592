// Rounds that are kept are those that resolving them anew gives.
#include "engine/round.h"

#include <gtest/gtest.h>

#include "weft/registry.h"

namespace weft {
namespace {

constexpr int kRank = 1;

// Of many rounds.
Binding pairwise(std::uint64_t revision, std::size_t count) {
  Binding binding;
  binding.plan = std::make_shared<const RankPlan>(
      make_rank_plan(find_algorithm("alltoall/pairwise"), kRank, 40, {}));
  binding.parts = {Partition::even(count, binding.plan->shape.input_blocks, 1),
                   Partition::even(count, binding.plan->shape.output_blocks, 1)};
  binding.chunk = 4;
  binding.revision = revision;
  binding.prepare();
  return binding;
}

template <typename Each>
void for_rounds(const Binding& binding, Each each) {
  const Program& program = binding.plan->program;
  for (std::size_t section = 0; section < program.size(); ++section)
    for (int round = 0; round < program[section].rounds; ++round) each(section, round);
}

void expect_resolved(const Round& kept, const Binding& binding, std::size_t section, int round) {
  Rounds none;
  const Round& fresh = none.get(binding, kRank, section, round);
  ASSERT_EQ(kept.steps.size(), fresh.steps.size());
  EXPECT_EQ(kept.trips, fresh.trips);
  for (std::size_t i = 0; i < fresh.steps.size(); ++i) {
    EXPECT_EQ(kept.steps[i].step, fresh.steps[i].step);
    EXPECT_EQ(kept.steps[i].elements, fresh.steps[i].elements);
    EXPECT_EQ(kept.steps[i].channel, fresh.steps[i].channel);
    EXPECT_EQ(kept.steps[i].left, fresh.steps[i].left);
    EXPECT_EQ(kept.steps[i].into - kept.places.data(), fresh.steps[i].into - fresh.places.data());
    EXPECT_EQ(kept.steps[i].from - kept.places.data(), fresh.steps[i].from - fresh.places.data());
    EXPECT_EQ(kept.steps[i].peers - kept.peers.data(), fresh.steps[i].peers - fresh.peers.data());
  }
  EXPECT_EQ(kept.peers, fresh.peers);
  ASSERT_EQ(kept.places.size(), fresh.places.size());
  for (std::size_t i = 0; i < fresh.places.size(); ++i) {
    EXPECT_EQ(kept.places[i].owner, fresh.places[i].owner);
    EXPECT_EQ(kept.places[i].bytes, fresh.places[i].bytes);
    EXPECT_EQ(kept.places[i].elements, fresh.places[i].elements);
  }
}

// So many bindings that all of what is kept is replaced by others in between.
TEST(Rounds, OfBindingsThatAlternateAreTheirOwn) {
  std::vector<Binding> bindings;
  for (std::uint64_t i = 0; i < 40; ++i) bindings.push_back(pairwise(i, 1000 + 37 * i));
  Rounds rounds;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (std::size_t i = 0; i < bindings.size(); ++i)
      for (const Binding* binding : {&bindings[i], &bindings[0], &bindings[i]})
        for_rounds(*binding, [&](std::size_t section, int round) {
          expect_resolved(rounds.get(*binding, kRank, section, round), *binding, section, round);
        });
}

TEST(Rounds, OfEightBindingsAreKept) {
  std::vector<Binding> bindings;
  for (std::uint64_t i = 1; i <= 8; ++i) bindings.push_back(pairwise(i, 100 * i));
  Rounds rounds;
  const auto trips = [&](const Binding& binding) { return rounds.get(binding, kRank, 1, 0).trips; };
  std::vector<std::size_t> before;
  for (Binding& binding : bindings) {
    before.push_back(trips(binding));
    binding.chunk = 1;  // what is kept is not looked at again
  }
  for (std::size_t i = 0; i < bindings.size(); ++i) EXPECT_EQ(trips(bindings[i]), before[i]) << i;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    bindings[i].revision += 8;
    EXPECT_GT(trips(bindings[i]), before[i]) << i;
  }
}

}  // namespace
}  // namespace weft

// Rounds that are kept are those that resolving them anew gives.
#include "engine/round.h"

#include <gtest/gtest.h>

#include "weft/registry.h"

namespace weft {
namespace {

constexpr int kRank = 1;

Binding bound(const char* algorithm, int ranks, std::uint64_t revision, std::size_t count) {
  Binding binding;
  binding.plan =
      std::make_shared<const RankPlan>(make_rank_plan(find_algorithm(algorithm), kRank, ranks, {}));
  binding.parts = {Partition::even(count, binding.plan->shape.input_blocks, 1),
                   Partition::even(count, binding.plan->shape.output_blocks, 1)};
  binding.chunk = 4;
  binding.revision = revision;
  binding.prepare();
  return binding;
}

// Of many rounds.
Binding pairwise(std::uint64_t revision, std::size_t count) {
  return bound("alltoall/pairwise", 40, revision, count);
}

// Of one, in which a copy and a signal are one step.
Binding one_shot(std::uint64_t revision, std::size_t count) {
  return bound("allreduce/one_shot", 2, revision, count);
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
    EXPECT_EQ(kept.steps[i].verb, fresh.steps[i].verb);
    EXPECT_EQ(kept.steps[i].elements, fresh.steps[i].elements);
    EXPECT_EQ(kept.steps[i].channel, fresh.steps[i].channel);
    EXPECT_EQ(kept.steps[i].left, fresh.steps[i].left);
    EXPECT_EQ(kept.steps[i].passing, fresh.steps[i].passing);
    EXPECT_EQ(kept.steps[i].into - kept.places.data(), fresh.steps[i].into - fresh.places.data());
    EXPECT_EQ(kept.steps[i].targets, fresh.steps[i].targets);
    EXPECT_EQ(kept.steps[i].sources, fresh.steps[i].sources);
    EXPECT_EQ(kept.steps[i].readers, fresh.steps[i].readers);
    EXPECT_EQ(kept.steps[i].peers - kept.peers.data(), fresh.steps[i].peers - fresh.peers.data());
  }
  EXPECT_EQ(kept.peers, fresh.peers);
  ASSERT_EQ(kept.places.size(), fresh.places.size());
  for (std::size_t i = 0; i < fresh.places.size(); ++i) {
    EXPECT_EQ(kept.places[i].buffer, fresh.places[i].buffer);
    EXPECT_EQ(kept.places[i].wide, fresh.places[i].wide);
    EXPECT_EQ(kept.places[i].owner, fresh.places[i].owner);
    EXPECT_EQ(kept.places[i].bytes, fresh.places[i].bytes);
    EXPECT_EQ(kept.places[i].elements, fresh.places[i].elements);
  }
}

// So many bindings that all of what is kept is replaced by others in between.
TEST(Rounds, OfBindingsThatAlternateAreTheirOwn) {
  std::vector<Binding> bindings;
  for (std::uint64_t i = 0; i < 40; ++i)
    bindings.push_back((i % 3 == 1 ? one_shot : pairwise)(i, 1000 + 37 * i));
  Rounds rounds;
  const Round& first = rounds.get(bindings[1], kRank, 0, 0);
  EXPECT_TRUE(std::ranges::any_of(first.steps, [](const auto& step) { return step.passing; }));
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

// What a fabric is told before a run: whether peers will write into the output.
TEST(Bindings, KnowWhetherPeersWriteAndSlotsAreUsed) {
  struct Row {
    const char* algorithm;
    std::size_t chunk;  // bytes
    bool delivers, uses_slots;
  };
  const Row rows[] = {{"allgather/direct", 512, false, true},
                      {"allgather/direct", kInlineBytes, false, false},
                      {"allreduce/two_shot", 512, true, true},
                      {"allreduce/one_shot", 512, false, true},
                      {"alltoall/staged", 512, false, true}};
  for (const Row& row : rows) {
    Binding binding;
    binding.plan =
        std::make_shared<const RankPlan>(make_rank_plan(find_algorithm(row.algorithm), 0, 2, {}));
    binding.chunk = row.chunk;
    binding.prepare();
    EXPECT_EQ(binding.delivers, row.delivers) << row.algorithm;
    EXPECT_EQ(binding.uses_slots, row.uses_slots) << row.algorithm << ' ' << row.chunk;
  }
}

Operand at(Buffer buffer, int rank) {
  Operand operand;
  operand.buffer = buffer;
  operand.rank = rank;
  operand.range.buffer = buffer == Buffer::kSlot ? Buffer::kInput : buffer;
  return operand;
}

// Rank 0 of two: a first step, and one that sends what it has worked out.
struct Pair {
  Step first, next;
  Width width = Width::kPlain;
  std::size_t count = 1000;
};

// A copy into the own slot, and its signal.
Pair filled_slot() {
  Pair pair;
  pair.first.verb = Verb::kCopy;
  pair.first.dst = {at(Buffer::kSlot, 0)};
  pair.first.src = {at(Buffer::kInput, 0)};
  pair.next.verb = Verb::kSignal;
  pair.next.peers = {1};
  return pair;
}

// A sum in the own output, and a put of it into the peer's.
Pair sent_sum() {
  Pair pair;
  pair.first.verb = Verb::kReduce;
  pair.first.dst = {at(Buffer::kOutput, 0)};
  pair.first.src = {at(Buffer::kInput, 0), at(Buffer::kSlot, 1)};
  pair.next.verb = Verb::kPut;
  pair.next.src = {at(Buffer::kOutput, 0)};
  pair.next.dst = {at(Buffer::kOutput, 1)};
  pair.next.peers = {1};
  return pair;
}

// Whether the first step's work is done by the second.
bool is_left(const Pair& pair) {
  RankPlan plan;
  plan.shape.channels = {{1, pair.width}};
  plan.program = {{1, true, {pair.first, pair.next}}};
  Binding binding;
  binding.plan = std::make_shared<const RankPlan>(plan);
  binding.parts = {Partition::uniform(pair.count, 1), Partition::uniform(pair.count, 1)};
  binding.element = binding.accumulator = 4;
  binding.chunk = 500;
  Rounds rounds;
  const std::vector<ResolvedStep>& steps = rounds.get(binding, 0, 0, 0).steps;
  if (steps.size() == 2) return steps[0].left;
  const ResolvedStep& put = steps.at(0);
  EXPECT_EQ(put.step, &binding.plan->program[0].steps[1]);
  EXPECT_TRUE(put.verb == Verb::kPut && put.passing && !put.left);
  EXPECT_TRUE(put.targets == 0 && put.sources == 1 && put.from()->buffer == Buffer::kInput);
  EXPECT_EQ(put.readers, 1);
  return true;
}

TEST(Rounds, AStepIsLeftToTheNextOnlyIfThatSendsTheSame) {
  struct Row {
    const char* what;
    Pair (*pair)();
    void (*change)(Pair&);
    bool left;
  };
  const Row rows[] = {
      {"a copy", filled_slot, [](Pair&) {}, true},
      {"a short copy", filled_slot, [](Pair& pair) { pair.count = 1; }, true},
      {"out of the peer's memory", filled_slot, [](Pair& pair) { pair.first.src[0].rank = 1; },
       false},
      {"out of a slot", filled_slot, [](Pair& pair) { pair.first.src[0] = at(Buffer::kSlot, 0); },
       false},
      {"into a wide slot", filled_slot, [](Pair& pair) { pair.width = Width::kWide; }, false},
      {"to two readers", filled_slot, [](Pair& pair) { pair.next.peers = {1, 1}; }, false},
      {"a trip earlier", filled_slot, [](Pair& pair) { pair.next.lag = 1; }, false},
      {"in fewer chunks", filled_slot, [](Pair& pair) { pair.next.extent.blocks = 0; }, false},
      {"of other elements", filled_slot,
       [](Pair& pair) {
         pair.count = 400;  // a chunk of either
         pair.next.extent.blocks = 0;
       },
       false},
      {"on another channel", filled_slot, [](Pair& pair) { pair.next.channel = 1; }, false},
      {"a sum", sent_sum, [](Pair&) {}, true},
      {"that travels in its message", sent_sum, [](Pair& pair) { pair.count = 112; }, false},
      {"just longer", sent_sum, [](Pair& pair) { pair.count = 113; }, true},
      {"of other elements", sent_sum,
       [](Pair& pair) {
         pair.count = 400;  // a chunk of either
         pair.next.extent.blocks = 0;
       },
       false},
      {"a trip earlier", sent_sum, [](Pair& pair) { pair.next.lag = 1; }, false},
      {"that may be loaded", sent_sum, [](Pair& pair) { pair.next.dst.clear(); }, false},
      {"of which another is sent", sent_sum,
       [](Pair& pair) { pair.next.src = {at(Buffer::kInput, 0)}; }, false},
      {"a copy before a put", sent_sum,
       [](Pair& pair) {
         pair.first.verb = Verb::kCopy;
         pair.first.src.pop_back();
       },
       false},
  };
  for (const Row& row : rows) {
    Pair pair = row.pair();
    row.change(pair);
    EXPECT_EQ(is_left(pair), row.left) << row.what;
  }
}

}  // namespace
}  // namespace weft

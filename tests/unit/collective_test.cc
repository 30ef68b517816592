// The table of what collectives are, against what weft/call.h promises and what is registered.
#include "weft/collective.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "weft/registry.h"
#include "weft/verify.h"

namespace weft {
namespace {

constexpr std::size_t kCount = 7;
constexpr int kRanks = 3, kRoot = 1;

// Elements of input and output at the root and at another rank, of a call with kCount.
struct Expected {
  Collective collective;
  bool reduces;
  std::size_t root_input, root_output, input, output;
};

constexpr std::size_t kAll = kCount * kRanks;
constexpr Expected kExpected[] = {
    {Collective::kAllreduce, true, kCount, kCount, kCount, kCount},
    {Collective::kBroadcast, false, kCount, kCount, 0, kCount},
    {Collective::kReduce, true, kCount, kCount, kCount, 0},
    {Collective::kAllgather, false, kCount, kAll, kCount, kAll},
    {Collective::kReduceScatter, true, kAll, kCount, kAll, kCount},
    {Collective::kAlltoall, false, kAll, kAll, kAll, kAll},
    {Collective::kGather, false, kCount, kAll, kCount, 0},
    {Collective::kScatter, false, kAll, kCount, 0, kCount},
    {Collective::kBarrier, false, 0, 0, 0, 0},
};

std::size_t elements(const SideTraits& side, int rank) {
  return holds(side.holder, rank, kRoot) ? side.elements(kCount, {}, kRanks) : 0;
}

TEST(Collective, EachHasTheBuffersThatACallOfItTakes) {
  for (const Expected& expected : kExpected) {
    const CollectiveTraits& traits = traits_of(expected.collective);
    SCOPED_TRACE(traits.name);
    EXPECT_EQ(traits.reduces, expected.reduces);
    EXPECT_EQ(elements(traits.input, kRoot), expected.root_input);
    EXPECT_EQ(elements(traits.output, kRoot), expected.root_output);
    EXPECT_EQ(elements(traits.input, 2), expected.input);
    EXPECT_EQ(elements(traits.output, 2), expected.output);
    EXPECT_EQ(traits.rooted(),
              expected.root_input != expected.input || expected.root_output != expected.output);
    EXPECT_EQ(traits.moves_data(), expected.root_input > 0);
    EXPECT_FALSE(traits.is_pair());
  }
  EXPECT_EQ(std::size(kExpected) + 1, kCollectiveTraits.size());  // and the pair's
}

TEST(Collective, OfAPairOneSendsAndOneReceives) {
  const CollectiveTraits& pair = traits_of(Collective::kSendRecv);
  EXPECT_TRUE(pair.is_pair());
  EXPECT_TRUE(holds(pair.input.holder, 0, 0) && holds(pair.output.holder, 1, 0));
  EXPECT_FALSE(holds(pair.input.holder, 1, 0) || holds(pair.output.holder, 0, 0));
}

TEST(Collective, CountsOfRanksReplaceTheCount) {
  const std::vector<std::size_t> counts = {1, 2, 4};
  EXPECT_EQ(traits_of(Collective::kGather).output.elements(kCount, counts, kRanks), 7u);
  EXPECT_EQ(traits_of(Collective::kGather).input.elements(kCount, counts, kRanks), kCount);
}

TEST(Collective, NamesAreTheirOwnAndCanBeReadBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(parse_collective(name_of(collective)), collective);
    names.insert(name_of(collective));
  }
  EXPECT_EQ(names.size(), kCollectiveTraits.size());
  EXPECT_EQ(traits_of(static_cast<Collective>(kCollectives)).name, "unknown");
}

// What the table says of roots, blocks and buffers is what plans have and what is proved of them.
TEST(Collective, EachHasAnAlgorithmThatIsProvedByItsRow) {
  std::set<Collective> served;
  for (const std::string& name : builtin_algorithm_names()) {
    const Algorithm algorithm = find_algorithm(name);
    const CollectiveTraits& traits = traits_of(algorithm.collective);
    if (!served.insert(algorithm.collective).second) continue;
    SCOPED_TRACE(name);
    EXPECT_TRUE(name.starts_with(std::string(traits.name) + "/"));
    const int ranks = traits.is_pair() ? 2 : kRanks;
    Params params;
    if (traits.rooted()) params["root"] = kRoot;
    const Plan plan = make_plan(name, ranks, params);
    EXPECT_EQ(plan.shape.params.contains("root"), traits.rooted());
    if (const int blocks = traits.input.blocks(ranks); blocks >= 0) {
      EXPECT_EQ(plan.shape.input_blocks, blocks);
    }
    EXPECT_TRUE(verify(plan).ok()) << to_text(verify(plan));
  }
  EXPECT_EQ(served.size(), kCollectiveTraits.size());
}

}  // namespace
}  // namespace weft

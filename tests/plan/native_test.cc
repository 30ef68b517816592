// What is said of a plan that hands its call to the fabric: well formed, not proved, not priced.
#include <gtest/gtest.h>

#include <algorithm>

#include "weft/builder.h"
#include "weft/collective.h"
#include "weft/error.h"
#include "weft/price.h"
#include "weft/registry.h"
#include "weft/topology.h"
#include "weft/verify.h"

namespace weft {
namespace {

TEST(Native, EveryCollectiveHasOneWhichIsNotListed) {
  for (const CollectiveTraits& traits : kCollectiveTraits) {
    if (traits.is_pair()) continue;
    const std::string name = std::string(traits.name) + "/native";
    const Plan plan = make_plan(name, 3);
    EXPECT_EQ(parse_plan(to_text(plan)), plan);
    EXPECT_NE(to_text(plan).find("  once\n    native\n"), std::string::npos) << to_text(plan);
    const std::vector<std::string> listed = algorithm_names();
    EXPECT_EQ(std::ranges::find(listed, name), listed.end());
  }
}

TEST(Native, IsNotProved) {
  for (int ranks : {1, 2, 5}) {
    const VerifyReport report = verify(make_plan("allreduce/native", ranks));
    EXPECT_FALSE(report.ok());
    EXPECT_FALSE(report.consistent);
    EXPECT_FALSE(report.reproducible);
    ASSERT_FALSE(report.findings.empty());
    for (const Finding& finding : report.findings) EXPECT_EQ(finding.fault, Fault::kOpaque);
    EXPECT_EQ(to_text(report).find("proved in"), std::string::npos);
    EXPECT_NE(to_text(report).find("opaque"), std::string::npos);
    EXPECT_NE(to_text(report).find("not proved"), std::string::npos);
  }
}

TEST(Native, HasNoPrice) {
  Topology place;
  place.vertices = {{"a"}, {"b"}};
  place.links.push_back({.a = 0, .b = 1, .latency = 1e-6, .bandwidth = 1e9, .memory = true});
  place.ranks = {0, 1};
  for (int ranks : {1, 2}) {
    EXPECT_THROW((void)price("allreduce/native", ranks, 1024, place), Unsupported);
    const Plan plan = make_plan("barrier/native", ranks);
    EXPECT_THROW((void)timeline(plan, 0, place), Unsupported);
  }
}

bool refused(const std::string& program) {
  const std::string head = "plan allreduce/x collective=allreduce ranks=1 input=1 output=1\n";
  const VerifyReport report = verify(parse_plan(head + program));
  return std::ranges::any_of(
      report.findings, [](const Finding& finding) { return finding.fault == Fault::kMalformed; });
}

TEST(Native, IsAloneInItsPlan) {
  EXPECT_FALSE(refused("rank 0\nonce\nnative\n"));
  EXPECT_TRUE(refused("rank 0\nonce\nnative\ncopy output[0] = input[0]\n"));
  EXPECT_TRUE(refused("rank 0\nonce\ncopy output[0] = input[0]\nonce\nnative\n"));
  EXPECT_TRUE(refused("rank 0\nonce\nnative\nnative\n"));
  EXPECT_TRUE(refused("rank 0\nonce rounds=2\nnative\n"));
  EXPECT_TRUE(refused("rank 0\nchunks\nnative\n"));
  EXPECT_TRUE(refused("channel 0 slots=1\nrank 0\nonce\nnative\n"));
  EXPECT_TRUE(refused("rank 0\nonce\nnative for input[0]\n"));
  EXPECT_TRUE(refused("rank 0\nonce\nlag 1: native\n"));
}

// Who registers an algorithm has it proved.
TEST(Native, IsNoUsersAlgorithm) {
  Algorithm mine{"allreduce/mine_native", Collective::kAllreduce, "",
                 [](Builder& b) { b.once([&] { b.native(); }); }};
  EXPECT_THROW(register_algorithm(mine), InvalidPlan);
  mine.name = "allreduce/native";
  EXPECT_THROW(register_algorithm(mine), InvalidArgument);
}

}  // namespace
}  // namespace weft

// Which calls find the binding of an earlier one.
#include "comm/bound_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>

#include "weft/communicator.h"
#include "weft/error.h"
#include "weft/registry.h"

namespace weft {
namespace {

class BoundCallsTest : public ::testing::Test {
 protected:
  Call allreduce(std::size_t count) {
    return {Collective::kAllreduce, in_.data(), out_.data(), count, DType::kF32};
  }
  // What tells one binding from another.
  std::uint64_t revision(const Call& call) { return calls_.bind(call).revision; }

  std::array<float, 256> in_{}, out_{}, other_{};
  const std::shared_ptr<Fabric> fabric_ = make_shm_fabric();
  Planner planner_{0, 2, Settings{}, fabric_};
  BoundCalls calls_{planner_};
};

TEST_F(BoundCallsTest, TheLastEightAreFoundWithTheirNewBuffers) {
  std::array<std::uint64_t, 9> first{};
  for (std::size_t i = 0; i < 8; ++i) first[i] = revision(allreduce(i));
  for (std::size_t i = 0; i < 8; ++i) {
    Call again = allreduce(i);
    again.output = other_.data();
    const Binding& binding = calls_.bind(again);
    EXPECT_EQ(binding.revision, first[i]) << i;
    EXPECT_EQ(binding.signature.count, i);
    EXPECT_EQ(binding.user[1], reinterpret_cast<std::byte*>(other_.data()));
  }
  EXPECT_EQ(revision(allreduce(0)), first[0]);
  first[8] = revision(allreduce(8));
  EXPECT_NE(revision(allreduce(1)), first[1]) << "it was used longest ago";
  for (std::size_t i : {0, 3, 4, 5, 6, 7, 8}) EXPECT_EQ(revision(allreduce(i)), first[i]) << i;
}

TEST_F(BoundCallsTest, AnyDifferenceButTheBuffersIsAnotherCall) {
  const std::array<std::size_t, 2> counts{8, 8};
  struct Row {
    const char* what;
    std::function<void(Call&)> change;
  };
  const Row rows[] = {
      {"collective", [](Call& call) { call.collective = Collective::kBroadcast; }},
      {"count", [](Call& call) { call.count = 9; }},
      {"dtype", [](Call& call) { call.dtype = DType::kI32; }},
      {"op", [](Call& call) { call.op = ReduceOp::kMax; }},
      {"root", [](Call& call) { call.root = 1; }},
      {"scale", [](Call& call) { call.scale = 2.0; }},
      {"symmetric", [](Call& call) { call.symmetric = true; }},
      {"algorithm", [](Call& call) { call.algorithm = "ring"; }},
  };
  const std::uint64_t before = revision(allreduce(8));
  for (const Row& row : rows) {
    Call changed = allreduce(8);
    row.change(changed);
    EXPECT_NE(revision(changed), before) << row.what;
    EXPECT_EQ(revision(allreduce(8)), before) << row.what;
  }
  Call zero = allreduce(8);
  zero.op = ReduceOp::kPremulSum;
  zero.scale = 0.0;
  const std::uint64_t positive = revision(zero);
  zero.scale = -0.0;
  EXPECT_NE(revision(zero), positive) << "zeros of the result have the other sign";
  Call gather{Collective::kAllgather, in_.data(), out_.data(), 8, DType::kF32};
  const std::uint64_t equal = revision(gather);
  gather.output_counts = counts;
  const std::uint64_t given = revision(gather);
  EXPECT_NE(given, equal);
  EXPECT_NE(revision(gather), given) << "counts are the caller's memory";
  gather.output_counts = {};
  EXPECT_EQ(revision(gather), equal);
}

TEST_F(BoundCallsTest, ACallWithCountsLeavesNothingOfTheOneWhosePlaceItTook) {
  const std::array<std::size_t, 2> counts{8, 4};
  for (std::size_t i = 0; i < 8; ++i) calls_.bind(allreduce(i));
  Call gather{Collective::kAllgather, in_.data(), out_.data(), 8, DType::kF32};
  gather.output_counts = counts;
  calls_.bind(gather);
  EXPECT_EQ(calls_.bind(allreduce(0)).parts[1].total(), 0u);
}

TEST_F(BoundCallsTest, CallsWithCountsTakeThePlaceOfOneOther) {
  const std::array<std::size_t, 2> counts{8, 4};
  std::array<std::uint64_t, 7> first{};
  for (std::size_t i = 0; i < 7; ++i) first[i] = revision(allreduce(i));
  Call gather{Collective::kAllgather, in_.data(), out_.data(), 8, DType::kF32};
  gather.output_counts = counts;
  for (int i = 0; i < 10; ++i) calls_.bind(gather);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(revision(allreduce(i)), first[i]) << i;
}

TEST_F(BoundCallsTest, OtherBuffersAreChecked) {
  const std::uint64_t before = revision(allreduce(8));
  Call bad = allreduce(8);
  bad.output = nullptr;
  EXPECT_THROW(calls_.bind(bad), InvalidArgument);
  bad.output = in_.data() + 4;
  EXPECT_THROW(calls_.bind(bad), InvalidArgument);
  EXPECT_EQ(revision(allreduce(8)), before);
}

TEST_F(BoundCallsTest, EqualBuffersMayHaveBecomeMemoryOfAnotherKind) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  std::shared_ptr<void> memory = symmetric_alloc(*fabric_, kBytes);
  Call call{Collective::kAllreduce, memory.get(), memory.get(), kBytes / 4, DType::kF32};
  call.symmetric = true;
  const std::uint64_t before = revision(call);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(calls_.bind(call).where[1]) << i;
  memory.reset();  // ordinary memory may come to lie there
  EXPECT_FALSE(calls_.bind(call).where[1]);
  EXPECT_EQ(revision(call), before);
}

TEST_F(BoundCallsTest, ACallThatWasRefusedIsRefusedAgain) {
  Call bad = allreduce(8);
  for (std::size_t i = 0; i < 8; ++i) calls_.bind(allreduce(i));
  bad.root = 0;
  bad.algorithm = "no_such";
  for (int i = 0; i < 2; ++i) EXPECT_ANY_THROW(calls_.bind(bad)) << i;
  EXPECT_EQ(calls_.bind(allreduce(7)).signature.count, 7u);
}

TEST_F(BoundCallsTest, TheNameOfAnAlgorithmMayGoAfterTheCall) {
  std::optional<std::string> name = "recursive_doubling";
  Call named = allreduce(8);
  named.algorithm = *name;
  const std::uint64_t before = revision(named);
  name->assign("rrrrrrrrrrrrrrrrrr");
  name.reset();
  named.algorithm = "recursive_doubling";
  EXPECT_EQ(revision(named), before);
}

TEST_F(BoundCallsTest, AnAlgorithmRegisteredLaterIsUsed) {
  Algorithm mine = find_algorithm("allreduce/ring");
  mine.name = "allreduce/of_bound_calls_test";
  mine.aliases.clear();
  register_algorithm(mine);
  Call call = allreduce(8);
  call.algorithm = "of_bound_calls_test";
  const auto before = calls_.bind(call).plan;
  mine.write = find_algorithm("allreduce/one_shot").write;
  register_algorithm(mine);
  EXPECT_NE(calls_.bind(call).plan->program, before->program);
}

}  // namespace
}  // namespace weft

// How far bf16 and f16 sums of several levels are from the exact ones: half a unit in the last
// place of the result, and of each partial sum that is rounded on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "support/ranks.h"
#include "support/values.h"

namespace weft::testing {
namespace {

constexpr std::size_t kCount = 5000;

struct Row {
  Collective collective;
  const char* algorithm;
  int roundings;  // along the way of one contribution to the result, each of at most the sum
};

// Positive, so that no partial sum is larger than the result.
double contribution(DType dtype, int rank, std::size_t i) {
  std::minstd_rand random(static_cast<unsigned>(rank) * 7919 + static_cast<unsigned>(i) + 1);
  random.discard(3);
  Array one(dtype, 1);
  one.set(0, 0.5 + static_cast<double>(random() % 4096) / 4096);
  return one.get(0);
}

// The furthest of `count` results from the exact one, whose first is element `first`, in halves of
// a unit in the last place of bf16 or f16.
double worst_of(Array& x, std::size_t first, std::size_t count, DType dtype, int ranks) {
  const double unit = dtype == DType::kF16 ? std::ldexp(1, -11) : std::ldexp(1, -8);
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double exact = 0;
    for (int rank = 0; rank < ranks; ++rank) exact += contribution(dtype, rank, first + i);
    worst = std::max(worst, std::abs(x.get(i) - exact) / (exact * unit));
  }
  return worst;
}

void expect_near(Communicator& comm, DType dtype, const Row& row) {
  Array x(dtype, kCount), y(dtype, kCount);
  for (std::size_t i = 0; i < kCount; ++i) x.set(i, contribution(dtype, comm.rank(), i));
  const bool shares = row.collective == Collective::kReduceScatter;
  const std::size_t count = kCount / (shares ? static_cast<std::size_t>(comm.size()) : 1);
  Call call{row.collective, x.data(), y.data(), count, dtype};
  call.algorithm = row.algorithm;
  comm.run(call);
  if (row.collective == Collective::kReduce && comm.rank() != call.root) return;
  const std::size_t first = shares ? static_cast<std::size_t>(comm.rank()) * count : 0;
  const double worst = worst_of(y, first, count, dtype, comm.size());
  EXPECT_LE(worst, row.roundings * 1.01) << row.algorithm;
  EXPECT_GT(worst, 0.1) << row.algorithm << ": nothing was rounded, so nothing is bounded";
}

constexpr auto kAllreduce = Collective::kAllreduce, kReduce = Collective::kReduce,
               kReduceScatter = Collective::kReduceScatter;

TEST(Rounding, OncePerLevel) {
  const Row rows[] = {
      {kAllreduce, "two_level(node=2)", 1},
      {kAllreduce, "two_level(node=4)", 1},
      {kAllreduce, "two_level(node=2,wide=0)", 2},
      {kAllreduce, "two_level(node=4,wide=0)", 2},
      {kAllreduce, "two_level(place=[0,1,1,0,1,2,1,0],wide=0)", 2},
      {kAllreduce, "multi_leader(node=2,leaders=1,inner=direct,outer=recursive_doubling)", 3},
      {kAllreduce, "multi_leader(node=4,leaders=1,inner=direct,outer=recursive_doubling)", 2},
  };
  run_ranks(8, [&](Communicator& comm) {
    for (const Row& row : rows)
      for (DType dtype : {DType::kBF16, DType::kF16}) expect_near(comm, dtype, row);
  });
}

// Two nodes of two, uneven ones, and a node for each rank.
TEST(Rounding, OnceWhereSumsCrossInFloat32) {
  run_ranks(4, [&](Communicator& comm) {
    for (const char* nodes : {"node=2", "place=[0,1,1,2]", "node=1"})
      for (Collective collective : {kAllreduce, kReduce, kReduceScatter}) {
        const std::string algorithm = "two_level(" + std::string(nodes) + ")";
        for (DType dtype : {DType::kBF16, DType::kF16})
          expect_near(comm, dtype, {collective, algorithm.c_str(), 1});
      }
  });
}

// float32 in bf16 on the wire: contributions or sums of nodes once, an allreduce's result once
// more.
TEST(Rounding, OnceACrossingOfTheWire) {
  run_ranks(4, [&](Communicator& comm) {
    for (const char* nodes : {"node=2", "place=[0,1,1,2]", "node=1"}) {
      const std::string algorithm = "two_level(" + std::string(nodes) + ",wire=1)";
      expect_near(comm, DType::kF32, {kAllreduce, algorithm.c_str(), 2});
      expect_near(comm, DType::kF32, {kReduceScatter, algorithm.c_str(), 1});
    }
  });
}

}  // namespace
}  // namespace weft::testing

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

constexpr int kRanks = 8;
constexpr std::size_t kCount = 5000;

struct Row {
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

void expect_near(Communicator& comm, DType dtype, const Row& row) {
  Array x(dtype, kCount);
  for (std::size_t i = 0; i < kCount; ++i) x.set(i, contribution(dtype, comm.rank(), i));
  Call call{Collective::kAllreduce, x.data(), x.data(), kCount, dtype};
  call.algorithm = row.algorithm;
  comm.run(call);
  const double unit = dtype == DType::kBF16 ? std::ldexp(1, -8) : std::ldexp(1, -11);
  double worst = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    double exact = 0;
    for (int rank = 0; rank < kRanks; ++rank) exact += contribution(dtype, rank, i);
    worst = std::max(worst, std::abs(x.get(i) - exact) / (exact * unit));
  }
  EXPECT_LE(worst, row.roundings * 1.01) << row.algorithm;
  EXPECT_GT(worst, 0.1) << row.algorithm << ": nothing was rounded, so nothing is bounded";
}

TEST(Rounding, OncePerLevel) {
  const Row rows[] = {
      {"two_level(node=2)", 1},
      {"two_level(node=4)", 1},
      {"two_level(node=2,wide=0)", 2},
      {"two_level(node=4,wide=0)", 2},
      {"two_level(place=[0,1,1,0,1,2,1,0],wide=0)", 2},
      {"multi_leader(node=2,leaders=1,inner=direct,outer=recursive_doubling)", 3},
      {"multi_leader(node=4,leaders=1,inner=direct,outer=recursive_doubling)", 2},
  };
  run_ranks(kRanks, [&](Communicator& comm) {
    for (const Row& row : rows)
      for (DType dtype : {DType::kBF16, DType::kF16}) expect_near(comm, dtype, row);
  });
}

}  // namespace
}  // namespace weft::testing

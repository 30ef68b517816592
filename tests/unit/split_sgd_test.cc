// Split-SGD: every instruction set gives the bits of plain float32 arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "weft/error.h"
#include "weft/optim.h"

namespace weft {
namespace {

float float_of(std::uint16_t high, std::uint16_t low) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(high) << 16 | low);
}

// Volatile: no compiler fuses the product into the sum.
float sum(float a, float b, float factor) {
  volatile float product = b * factor;
  volatile float result = a + product;
  return result;
}

struct Weight {
  float value, momentum;
};

Weight expected(Weight old, float grad, bool has_momentum, const kernels::SgdFactors& by) {
  if (by.weight_decay != 0) grad = sum(grad, old.value, by.weight_decay);
  Weight now = old;
  if (has_momentum) {
    volatile float kept = old.momentum * by.momentum;
    now.momentum = by.first ? grad : sum(kept, grad, by.undamped);
    grad = by.nesterov ? sum(grad, now.momentum, by.momentum) : now.momentum;
  }
  now.value = sum(old.value, grad, by.minus_lr);
  return now;
}

// Zeros, denormals, infinities and NaN among numbers of any size and of the sizes of weights.
std::uint32_t random_bits(std::mt19937& random) {
  static constexpr std::uint32_t kSpecial[] = {0,           0x80000000u, 1,           0x80000001u,
                                               0x007fffffu, 0x00800000u, 0x7f7fffffu, 0x7f800000u,
                                               0xff800000u, 0x7fc00000u};
  switch (random() % 8) {
    case 0:
      return kSpecial[random() % std::size(kSpecial)];
    case 1:
      return static_cast<std::uint32_t>(random());
    default:
      return std::bit_cast<std::uint32_t>(std::normal_distribution<float>()(random));
  }
}

std::uint32_t bits(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value);
}

struct Case {
  std::vector<std::uint16_t> high, low, grad;
  std::vector<float> momentum;

  Case(std::size_t count, std::mt19937& random) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t weight = random_bits(random);
      high.push_back(static_cast<std::uint16_t>(weight >> 16));
      low.push_back(static_cast<std::uint16_t>(weight));
      grad.push_back(static_cast<std::uint16_t>(random_bits(random) >> 16));
      momentum.push_back(std::bit_cast<float>(random_bits(random)));
    }
  }
};

// The elements before `begin` and behind `count` must stay as they are.
void check(const kernels::Isa& isa, const Case& before, std::size_t begin, std::size_t count,
           bool has_momentum, const kernels::SgdFactors& factors) {
  Case after = before;
  isa.table->split_sgd(
      {after.high.data() + begin, after.low.data() + begin, after.grad.data() + begin,
       has_momentum ? after.momentum.data() + begin : nullptr},
      count, factors);
  for (std::size_t i = 0; i < before.high.size(); ++i) {
    const Weight old{float_of(before.high[i], before.low[i]), before.momentum[i]};
    const bool touched = i >= begin && i < begin + count;
    const Weight now =
        touched ? expected(old, float_of(before.grad[i], 0), has_momentum, factors) : old;
    ASSERT_EQ(bits(float_of(after.high[i], after.low[i])), bits(now.value)) << isa.name << " " << i;
    ASSERT_EQ(bits(after.momentum[i]), bits(now.momentum)) << isa.name << " " << i;
  }
}

TEST(SplitSgd, EveryInstructionSetGivesTheBitsOfFloat32) {
  std::mt19937 random(19);
  for (int round = 0; round < 400; ++round) {
    const std::size_t begin = random() % 4, count = random() % 200;
    const Case before(begin + count + 3, random);
    const auto number = [&random] { return std::uniform_real_distribution<float>(0, 1)(random); };
    const kernels::SgdFactors factors{.minus_lr = -number(),
                                      .momentum = number(),
                                      .undamped = random() % 2 ? 1.0f : number(),
                                      .weight_decay = random() % 2 ? 0.0f : number(),
                                      .nesterov = random() % 2 == 0,
                                      .first = random() % 4 == 0};
    const bool has_momentum = random() % 2;
    for (const kernels::Isa& isa : kernels::available_isas()) {
      check(isa, before, begin, count, has_momentum, factors);
    }
  }
}

// 1 + 2^-12 times itself is 1 + 2^-11 + 2^-24: the last term rounds away, and only then is 1 taken
// away. A fused product would keep it.
TEST(SplitSgd, TheProductIsRoundedBeforeTheSum) {
  for (const kernels::Isa& isa : kernels::available_isas()) {
    // The gradient is a bf16, so the long factors are the weight and its decay.
    const float factor = 1 + 0x1p-12f;
    const auto weight = std::bit_cast<std::uint32_t>(factor);
    auto high = static_cast<std::uint16_t>(weight >> 16), low = static_cast<std::uint16_t>(weight);
    const std::uint16_t grad = 0xbf80;  // -1
    float momentum = 0;
    isa.table->split_sgd({&high, &low, &grad, &momentum}, 1,
                         {.minus_lr = 0,
                          .momentum = 0,
                          .undamped = 1,
                          .weight_decay = factor,
                          .nesterov = false,
                          .first = true});
    EXPECT_EQ(momentum, 0x1p-11f) << isa.name;
  }
}

// Shares end within the arrays, and the last one is short.
TEST(SplitSgd, ThreadsGiveTheBitsOfOne) {
  std::mt19937 random(20);
  const std::size_t count = (std::size_t{3} << 20) + 37;
  Case one(count, random);
  Case three = one;
  const SgdOptions options{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-3};
  for (Case* each : {&one, &three}) {
    split_sgd({.high = each->high.data(),
               .low = each->low.data(),
               .grad = each->grad.data(),
               .momentum = each->momentum.data(),
               .count = count},
              options, each == &one ? 1 : 3);
  }
  EXPECT_TRUE(one.high == three.high);
  EXPECT_TRUE(one.low == three.low);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(bits(one.momentum[i]), bits(three.momentum[i])) << i;
  }
}

TEST(SplitSgd, RowsAreTakenInTurnAndRoundedAfterEach) {
  std::vector<std::uint16_t> high = {0x3f80, 0x4b80}, low = {0, 0};  // 1 and 2^24
  const std::vector<std::uint16_t> grad = {0xbf80, 0xbf80, 0x4000};  // -1, -1, 2
  const std::vector<std::int64_t> row = {1, 1, 0};
  split_sgd({.high = high.data(),
             .low = low.data(),
             .rows = 2,
             .width = 1,
             .grad = grad.data(),
             .row = row.data(),
             .entries = 3},
            1.0);
  EXPECT_EQ(float_of(high[0], low[0]), -1.0f);
  EXPECT_EQ(float_of(high[1], low[1]), 0x1p24f);  // their sum, 2, would have counted
}

TEST(SplitSgd, ARowOutsideOfTheTableIsRefusedAndNothingChanges) {
  std::vector<std::uint16_t> high = {0x3f80, 0x3f80}, low = {0, 0};
  const std::vector<std::uint16_t> grad = {0x3f80, 0x3f80};
  for (const std::int64_t wrong : {std::int64_t{2}, std::int64_t{-1}}) {
    const std::vector<std::int64_t> row = {0, wrong};
    EXPECT_THROW(split_sgd({.high = high.data(),
                            .low = low.data(),
                            .rows = 2,
                            .width = 1,
                            .grad = grad.data(),
                            .row = row.data(),
                            .entries = 2},
                           1.0),
                 InvalidArgument);
    EXPECT_EQ(high[0], 0x3f80);
  }
}

}  // namespace
}  // namespace weft

// Where sums are rounded: halves, and the order in which terms are added up.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "unit/kernels_reference.h"

namespace weft::kernels {
namespace {

// Every value of a half is widened exactly, and every float near a half or between two is
// rounded to the nearest, ties to even.
TEST(Kernels, HalvesConvertExactlyAndRoundToNearestEven) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    const reference::HalfFormat& format =
        dtype == DType::kF16 ? reference::f16() : reference::bf16();
    std::vector<std::uint16_t> halves;
    for (int bits = 0; bits <= 0xffff; ++bits) halves.push_back(static_cast<std::uint16_t>(bits));
    std::vector<float> floats;
    for (std::uint16_t half : halves) {
      const float here = format.decode(half);
      const float next = format.decode(static_cast<std::uint16_t>(half + 1));
      const float middle = here + (next - here) / 2;
      for (float x : {here, middle}) {
        floats.insert(floats.end(), {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)});
      }
    }
    for (const Isa& isa : available_isas()) {
      const ReduceFn sum = isa.table->at(dtype, ReduceOp::kSum);
      std::vector<float> widened(halves.size());
      const std::vector<Source> half_source = {{halves.data()}};
      const std::vector<Source> float_source = {{floats.data(), true}};
      const std::vector<Target> float_target = {{widened.data(), true}};
      sum(half_source, float_target, halves.size(), 1.0, Order::kFromLeft);
      std::vector<std::uint16_t> narrowed(floats.size());
      const std::vector<Target> half_target = {{narrowed.data()}};
      sum(float_source, half_target, floats.size(), 1.0, Order::kFromLeft);
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const float expected = reference::canonical(format.decode(halves[i]));
        ASSERT_EQ(std::bit_cast<std::uint32_t>(widened[i]), std::bit_cast<std::uint32_t>(expected))
            << isa.name << " " << name_of(dtype) << " " << halves[i];
      }
      for (std::size_t i = 0; i < floats.size(); ++i) {
        ASSERT_EQ(narrowed[i], format.encode(floats[i]))
            << isa.name << " " << name_of(dtype) << " " << floats[i];
      }
    }
  }
}

// A sum whose parts would each round away in the narrow type.
TEST(Kernels, HalvesRoundOnce) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    const bool f16 = dtype == DType::kF16;
    const reference::HalfFormat& format = f16 ? reference::f16() : reference::bf16();
    const std::uint16_t big = format.encode(f16 ? 2048.0f : 256.0f), one = format.encode(1.0f);
    std::uint16_t sum = 0;
    const std::vector<Source> src = {{&big}, {&one}, {&one}};
    const std::vector<Target> dst = {{&sum}};
    find_reduce(dtype, ReduceOp::kSum)(src, dst, 1, 1.0, Order::kFromLeft);
    EXPECT_EQ(format.decode(sum), f16 ? 2050.0f : 258.0f);
  }
}

// 2^24 swallows a 1 that is added to it alone, not the 2 that a tree adds up first.
TEST(Kernels, TheOrderIsTheOneAskedFor) {
  const float big = 0x1p24f, one = 1.0f;
  for (const Isa& isa : available_isas()) {
    const ReduceFn sum = isa.table->at(DType::kF32, ReduceOp::kSum);
    float left = 0, tree = 0;
    const std::vector<Source> src = {{&big}, {&one}, {&one}, {&one}};
    const std::vector<Target> to_left = {{&left}}, to_tree = {{&tree}};
    sum(src, to_left, 1, 1.0, Order::kFromLeft);
    sum(src, to_tree, 1, 1.0, Order::kTree);
    EXPECT_EQ(left, 0x1p24f) << isa.name;
    EXPECT_EQ(tree, 0x1p24f + 2) << isa.name;
  }
}

}  // namespace
}  // namespace weft::kernels

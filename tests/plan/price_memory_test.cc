// Prices through shared memory, by hand: two ranks that do the same at the same time.
#include <gtest/gtest.h>

#include <cmath>

#include "weft/error.h"
#include "weft/price.h"

namespace weft {
namespace {

constexpr double kLatency = 200e-9, kBandwidth = 40e9, kCopy = 50e9, kReduce = 100e9;
constexpr double kStep = 10e-9, kCall = 30e-9;

Topology pair() {
  Topology t;
  t.vertices = {{"a"}, {"b"}};
  t.links = {{.a = 0, .b = 1, .latency = kLatency, .bandwidth = kBandwidth, .memory = true}};
  t.ranks = {0, 1};
  t.copy = kCopy, t.reduce = kReduce, t.step = kStep, t.call = kCall;
  return t;
}

double one_shot(const Topology& t, std::size_t bytes) {
  return price("allreduce/one_shot", 2, bytes, t, {}, {.chunk = bytes}).seconds;
}

// Copy, signal, wait, reduce, credit: all but the credit come before the end of the sum.
TEST(PriceMemory, APayloadInTheMessageComesWithIt) {
  const double bytes = 64;
  const double begin = kCall + bytes / kCopy + 2 * kStep;
  const double sum = std::max(2 * bytes / kReduce, bytes / kBandwidth);
  EXPECT_NEAR(one_shot(pair(), 64), begin - kStep + kLatency + sum + 3 * kStep, 1e-12);
}

TEST(PriceMemory, AnotherIsAsFarAgain) {
  const double bytes = 1 << 16;
  const double sum = std::max(2 * bytes / kReduce, kLatency + bytes / kBandwidth);
  EXPECT_NEAR(one_shot(pair(), 1 << 16), kCall + bytes / kCopy + kStep + kLatency + sum + 3 * kStep,
              1e-12);
}

TEST(PriceMemory, RatesGoWithTheSizeOfBuffers) {
  Topology t = pair();
  t.by_size = {{.bytes = 1 << 16, .copy = kCopy, .reduce = kReduce, .fetch = 20e9},
               {.bytes = 1 << 20, .copy = kCopy / 4, .reduce = kReduce, .fetch = 10e9}};
  EXPECT_EQ(rates_at(t, 1).copy, kCopy);
  EXPECT_EQ(rates_at(t, 1e12).copy, kCopy / 4);
  EXPECT_NEAR(1 / rates_at(t, 1 << 18).copy, (1 + 4) / 2.0 / kCopy, 1e-16);
  const double bytes = 1 << 16;
  EXPECT_NEAR(one_shot(t, 1 << 16) - one_shot(pair(), 1 << 16), bytes / 20e9 - bytes / kBandwidth,
              1e-12);
}

// Rank 0 of a ring of three reduces into a slot what it sends on.
TEST(PriceMemory, ReducingIntoASlotIsAsSlowAsItsStores) {
  Topology t = pair();
  t.vertices.push_back({"c"});
  t.links.push_back({.a = 1, .b = 2, .latency = kLatency, .bandwidth = kBandwidth, .memory = true});
  t.links.push_back({.a = 0, .b = 2, .latency = kLatency, .bandwidth = kBandwidth, .memory = true});
  t.ranks.push_back(2);
  t.by_size = {{.bytes = 1, .copy = kCopy, .reduce = kReduce}};
  const double fast = price("reduce_scatter/ring", 3, 3 << 16, t).seconds;
  t.by_size[0].store = 1e9;
  const double slow = price("reduce_scatter/ring", 3, 3 << 16, t).seconds;
  const double block = 1 << 16;
  EXPECT_NEAR(slow - fast, block / 1e9 - kLatency - block / kBandwidth, 0.25 * block / 1e9);
}

TEST(PriceMemory, SizesGrow) {
  Topology t = pair();
  t.by_size = {{.bytes = 8, .copy = 1, .reduce = 1}, {.bytes = 8, .copy = 1, .reduce = 1}};
  EXPECT_THROW(check(t), InvalidArgument);
}

}  // namespace
}  // namespace weft

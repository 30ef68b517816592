#include "select/chunk.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr std::size_t kArena = 4 << 20, kFloat = 4;

// Bytes of a chunk of float32 blocks of `block` bytes, of a plan with two slots.
std::size_t chunk(std::size_t block, const ChunkRule& rule) {
  PlanShape shape;
  shape.channels.resize(1);
  shape.channels[0].slots = 2;
  return kFloat * chunk_elements(shape, block / kFloat, kFloat, kFloat, kArena, rule);
}

TEST(Chunk, IsWhatIsAskedAsFarAsItFits) {
  EXPECT_EQ(chunk(16 << 20, {.asked = 1 << 20}), 1u << 20);
  EXPECT_EQ(chunk(16 << 20, {.asked = 3 << 20}), 2u << 20);  // two slots in the arena
  EXPECT_EQ(chunk(16 << 20, {.asked = 100}), 64u);           // whole cache lines
}

TEST(Chunk, GoesByTheBlockWhereNothingIsAsked) {
  EXPECT_EQ(chunk(8, {}), 16u << 10);
  EXPECT_EQ(chunk(128 << 10, {}), 32u << 10);
  EXPECT_EQ(chunk(16 << 20, {}), 64u << 10);
  EXPECT_EQ(chunk(16 << 20, {.across = true}), 256u << 10);
  EXPECT_EQ(chunk(8, {.crowded = true}), 256u << 10);
}

TEST(Chunk, GivesEachRailTwoPartsOfABlock) {
  const ChunkRule two{.asked = 1 << 20, .across = true, .rails = 2};
  EXPECT_EQ(chunk(16 << 20, two), 1u << 20);
  EXPECT_EQ(chunk(1 << 20, two), 256u << 10);
  EXPECT_EQ(chunk((1 << 20) + 4, two), (256u << 10) + 64);
  EXPECT_EQ(chunk(16 << 10, two), 16u << 10);  // too short to be worth a second message
  EXPECT_EQ(chunk(0, two), 1u << 20);          // ranks may differ on the block
}

}  // namespace
}  // namespace weft

// How buffers are cut into blocks and chunks.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "plan/partition.h"

namespace weft {
namespace {

using Sizes = std::vector<std::size_t>;

Sizes sizes_of(const Partition& partition, int blocks) {
  Sizes sizes;
  for (int block = 0; block < blocks; ++block) sizes.push_back(partition.size(block, 1));
  return sizes;
}

struct EvenCase {
  const char* what;
  std::size_t total;
  int blocks;
  std::size_t unit;
  Sizes sizes;
};

const EvenCase kEven[] = {
    {"nothing", 0, 4, 16, {0, 0, 0, 0}},
    {"no blocks", 0, 0, 16, {}},
    {"one block", 100, 1, 16, {100}},
    {"divides", 64, 4, 16, {16, 16, 16, 16}},
    {"fewer elements than blocks", 3, 8, 1, {1, 1, 1, 0, 0, 0, 0, 0}},
    {"fewer elements than a unit", 3, 4, 16, {3, 0, 0, 0}},
    {"rounded to units", 100, 4, 16, {32, 32, 32, 4}},
    {"the last ones empty", 96, 5, 32, {32, 32, 32, 0, 0}},
    {"one more than divides", 65, 4, 16, {32, 32, 1, 0}},
    {"unit one", 10, 4, 1, {3, 3, 3, 1}},
};

TEST(Partition, Even) {
  for (const EvenCase& c : kEven) {
    SCOPED_TRACE(c.what);
    auto partition = Partition::even(c.total, c.blocks, c.unit);
    EXPECT_EQ(partition.total(), c.total);
    EXPECT_EQ(sizes_of(partition, c.blocks), c.sizes);
    EXPECT_EQ(partition.size(0, c.blocks), c.total);
  }
}

// Blocks tile the buffer in order, and all bounds but the last are on units.
TEST(Partition, EvenTilesTheBuffer) {
  for (std::size_t total : {0, 1, 5, 63, 64, 65, 1000, 4099}) {
    for (int blocks : {1, 2, 3, 4, 5, 8, 1000}) {
      for (std::size_t unit : {1, 2, 16, 64}) {
        auto partition = Partition::even(total, blocks, unit);
        EXPECT_EQ(partition.offset(0), 0u);
        EXPECT_EQ(partition.offset(blocks), total);
        for (int block = 0; block < blocks; ++block) {
          EXPECT_LE(partition.offset(block), partition.offset(block + 1));
          EXPECT_TRUE(partition.offset(block) % unit == 0 || partition.offset(block) == total);
        }
      }
    }
  }
}

TEST(Partition, EvenOfHugeBuffers) {
  constexpr std::size_t kHuge = std::size_t{1} << 60;
  auto partition = Partition::even(kHuge + 1, 3, 64);
  EXPECT_EQ(partition.size(0, 3), kHuge + 1);
  EXPECT_EQ(partition.offset(1) % 64, 0u);
}

TEST(Partition, Uniform) {
  auto partition = Partition::uniform(7, 3);
  EXPECT_EQ(partition.total(), 21u);
  EXPECT_EQ(sizes_of(partition, 3), (Sizes{7, 7, 7}));
  EXPECT_EQ(partition.size(1, 2), 14u);
  EXPECT_EQ(sizes_of(Partition::uniform(0, 3), 3), (Sizes{0, 0, 0}));
}

TEST(Partition, OfCounts) {
  const Sizes counts[] = {{}, {0}, {5}, {0, 0, 0}, {3, 0, 2, 7}, {0, 0, 9}};
  for (const Sizes& sizes : counts) {
    auto partition = Partition::of(sizes);
    std::size_t total = 0;
    for (std::size_t size : sizes) total += size;
    EXPECT_EQ(partition.total(), total);
    EXPECT_EQ(sizes_of(partition, static_cast<int>(sizes.size())), sizes);
  }
  EXPECT_EQ(Partition::of(counts[4]).size(1, 3), 9u);
}

struct ChunkCase {
  std::size_t size;
  std::size_t chunk;
  Sizes counts;
};

const ChunkCase kChunks[] = {
    {0, 4, {0}},  // an empty range has one empty chunk
    {1, 4, {1}}, {4, 4, {4}}, {5, 4, {4, 1}}, {8, 4, {4, 4}}, {9, 4, {4, 4, 1}},
};

TEST(Partition, Chunks) {
  for (const ChunkCase& c : kChunks) {
    SCOPED_TRACE(c.size);
    ASSERT_EQ(chunks_of(c.size, c.chunk), c.counts.size());
    std::size_t first = 0;
    for (std::size_t i = 0; i < c.counts.size(); ++i) {
      Span span = chunk_of(c.size, c.chunk, i);
      EXPECT_EQ(span.first, first);
      EXPECT_EQ(span.count, c.counts[i]);
      first += span.count;
    }
  }
}

}  // namespace
}  // namespace weft

// The parcels of OpenSHMEM's heap, and what is settled before a library is loaded. No library here.
#include "fabric/shmem/heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "fabric/shmem/functions.h"
#include "fabric/shmem/surroundings.h"
#include "support/variable.h"
#include "weft/error.h"

namespace weft::shmem {
namespace {

constexpr std::size_t kPage = Heap::kPage;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

// A heap of so many pages, which hold something.
struct Room {
  explicit Room(std::size_t pages)
      : memory(static_cast<std::byte*>(::operator new(pages* kPage, std::align_val_t{kPage}))),
        heap(memory, pages * kPage, "set THE_VARIABLE") {
    std::memset(memory, 0xee, pages * kPage);
  }
  ~Room() { ::operator delete(memory, std::align_val_t{kPage}); }
  std::size_t offset(const void* block) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory);
  }

  std::byte* memory;
  Heap heap;
};

std::string error_of(auto&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ShmemHeap, BlocksAreWholePages) {
  Room room(64);
  std::size_t expected = 0;
  for (const auto& [bytes, pages] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {kPage - 1, 1}, {kPage, 1}, {kPage + 1, 2}, {10 * kPage, 10}}) {
    std::byte* const block = room.heap.take(bytes);
    EXPECT_EQ(room.offset(block), expected) << bytes;
    expected += pages * kPage;
  }
  EXPECT_EQ(room.heap.free_bytes(), 64 * kPage - expected);
}

TEST(ShmemHeap, FirstFitAndOnePlaceOfNeighbours) {
  // Releases the blocks a, b, c, d of a full heap in this order: the longest place after each.
  struct Row {
    const char* order;
    std::vector<std::size_t> largest;
  };
  for (const Row& row : std::vector<Row>{{"abcd", {1, 2, 3, 4}},
                                         {"dcba", {1, 2, 3, 4}},
                                         {"acbd", {1, 1, 3, 4}},
                                         {"bdca", {1, 1, 3, 4}},
                                         {"adbc", {1, 1, 2, 4}}}) {
    Room room(4);
    std::byte* blocks[4];
    for (std::byte*& block : blocks) block = room.heap.take(kPage);
    EXPECT_EQ(room.heap.largest(), 0u);
    for (std::size_t i = 0; i < 4; ++i) {
      room.heap.release(blocks[row.order[i] - 'a']);
      EXPECT_EQ(room.heap.largest(), row.largest[i] * kPage) << row.order << " " << i;
      EXPECT_EQ(room.heap.free_bytes(), (i + 1) * kPage) << row.order << " " << i;
    }
    EXPECT_EQ(room.heap.take(4 * kPage), room.memory) << row.order;
  }
  Room room(4);
  std::byte* const first = room.heap.take(2 * kPage);
  room.heap.take(kPage);
  room.heap.release(first);
  EXPECT_EQ(room.heap.take(1), first);  // the last page is free, too
}

TEST(ShmemHeap, AFullHeapSaysHowMuchThereIs) {
  Room room(4);
  std::byte* const first = room.heap.take(kPage);
  room.heap.take(kPage);
  room.heap.release(first);  // fragments: 1 and 2 pages
  EXPECT_EQ(error_of([&] { room.heap.take(3 * kPage); }),
            "shmem: 12288 bytes of symmetric memory wanted, 8192 are free in one piece (12288 of "
            "16384 in all); set THE_VARIABLE");
  for (const std::size_t bytes : {2 * kPage + 1, kMost, kMost - kPage, kMost / 2}) {
    EXPECT_THROW(room.heap.take(bytes), Unsupported) << bytes;
  }
  EXPECT_THROW(room.heap.take(0), InvalidArgument);
  EXPECT_EQ(room.heap.free_bytes(), 3 * kPage);
  Room none(1);
  Heap empty(none.memory, kPage - 1, "");
  EXPECT_THROW(empty.take(1), Unsupported);
  EXPECT_THROW(Heap(none.memory + 8, kPage, ""), InternalError);
}

TEST(ShmemHeap, OnlyBlocksAreReleasedAndOnce) {
  Room room(4);
  std::byte* const one = room.heap.take(2 * kPage);
  std::byte* const other = room.heap.take(kPage);
  int foreign = 0;
  for (const void* wrong :
       {static_cast<const void*>(nullptr), static_cast<const void*>(&foreign),
        static_cast<const void*>(one + 1), static_cast<const void*>(one + kPage),
        static_cast<const void*>(room.memory + 3 * kPage),
        static_cast<const void*>(room.memory + 4 * kPage),
        static_cast<const void*>(room.memory - kPage)}) {
    EXPECT_THROW(room.heap.release(wrong), InternalError) << wrong;
  }
  room.heap.release(one);
  EXPECT_THROW(room.heap.release(one), InternalError);
  EXPECT_EQ(room.heap.free_bytes(), 3 * kPage);
  room.heap.release(other);
  EXPECT_THROW(room.heap.release(other), InternalError);  // now inside of a free place
  EXPECT_EQ(room.heap.largest(), 4 * kPage);
}

TEST(ShmemHeap, Places) {
  Room room(8);
  room.heap.take(kPage);
  std::byte* const block = room.heap.take(2 * kPage);
  struct Row {
    std::ptrdiff_t from;  // the block's begin
    std::size_t bytes;
    bool inside;
  };
  const auto pages = static_cast<std::ptrdiff_t>(2 * kPage);
  for (const Row& row : std::vector<Row>{{0, 1, true},
                                         {0, 2 * kPage, true},
                                         {0, 0, true},
                                         {8, 2 * kPage - 8, true},
                                         {8, 2 * kPage - 7, false},
                                         {-1, 2, false},
                                         {pages, 0, false},
                                         {pages, 1, false},
                                         {8, kMost, false}}) {
    const auto offset = room.heap.offset_of(block + row.from, row.bytes);
    EXPECT_EQ(offset.has_value(), row.inside) << row.from << " " << row.bytes;
    EXPECT_EQ(offset.value_or(kPage + static_cast<std::size_t>(row.from)),
              kPage + static_cast<std::size_t>(row.from));
  }
  EXPECT_FALSE(room.heap.offset_of(nullptr, 1));
  EXPECT_FALSE(room.heap.offset_of(&room, 1));
  EXPECT_EQ(room.heap.at(7 * kPage, kPage), room.memory + 7 * kPage);  // a peer's: free here
  EXPECT_EQ(room.heap.at(8 * kPage, 0), room.memory + 8 * kPage);
  for (const auto& [offset, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 8 * kPage + 1}, {8 * kPage, 1}, {8 * kPage + 1, 0}, {kMost, 2}, {1, kMost}}) {
    EXPECT_THROW(room.heap.at(offset, bytes), InternalError) << offset << " " << bytes;
  }
}

TEST(ShmemHeap, RandomlyTakenBlocksNeverOverlap) {
  std::mt19937 random(7);
  Room room(64);
  std::vector<std::pair<std::byte*, std::size_t>> blocks;  // each filled with its own number
  unsigned char number = 0;
  for (int step = 0; step < 20000; ++step) {
    if (blocks.empty() || random() % 2 == 0) {
      const std::size_t bytes = 1 + random() % (8 * kPage);
      const bool fits = room.heap.largest() >= (bytes + kPage - 1) / kPage * kPage;
      const std::string error = error_of([&] {
        blocks.emplace_back(room.heap.take(bytes), bytes);
        std::memset(blocks.back().first, ++number | 1, bytes);
      });
      ASSERT_EQ(error.empty(), fits) << error;
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const auto [data, bytes] = blocks.back();
      ASSERT_TRUE(std::all_of(data, data + bytes, [&](auto b) { return b == data[0]; }));
      room.heap.release(data);
      blocks.pop_back();
    }
  }
  for (const auto& [data, bytes] : blocks) room.heap.release(data);
  EXPECT_EQ(room.heap.largest(), 64 * kPage);
}

TEST(ShmemSurroundings, ActiveSets) {
  struct Row {
    std::vector<int> pes;
    std::optional<ActiveSet> set;
  };
  for (const Row& row : std::vector<Row>{{{0}, ActiveSet{0, 0, 1}},
                                         {{5}, ActiveSet{5, 0, 1}},
                                         {{0, 1, 2}, ActiveSet{0, 0, 3}},
                                         {{1, 3, 5, 7}, ActiveSet{1, 1, 4}},
                                         {{2, 6}, ActiveSet{2, 2, 2}},
                                         {{0, 3}, std::nullopt},
                                         {{0, 3, 6}, std::nullopt},
                                         {{0, 1, 3}, std::nullopt},
                                         {{1, 0}, std::nullopt},
                                         {{0, 0}, std::nullopt},
                                         {{-1, 0}, std::nullopt},
                                         {{}, std::nullopt}}) {
    EXPECT_EQ(active_set(row.pes), row.set) << row.pes.size();
  }
}

TEST(ShmemSurroundings, Sizes) {
  struct Row {
    const char* text;
    std::optional<std::size_t> bytes;
  };
  for (const Row& row : std::vector<Row>{{"4096", 4096},
                                         {"64M", std::size_t{64} << 20},
                                         {"1g", std::size_t{1} << 30},
                                         {"2K", 2048},
                                         {"1T", std::size_t{1} << 40},
                                         {"0", 0},
                                         {"", {}},
                                         {"M", {}},
                                         {"1.5G", {}},
                                         {"-1", {}},
                                         {" 1", {}},
                                         {"1MB", {}},
                                         {"1\n", {}},
                                         {"99999999999999999999", {}},
                                         {"17592186044416M", {}}}) {
    EXPECT_EQ(parse_size(row.text), row.bytes) << row.text;
  }
}

TEST(ShmemSurroundings, TheHeapIsAsLargeAsTheUserSays) {
  const testing::Variable size("SHMEM_SYMMETRIC_SIZE", "");
  const testing::Variable open_mpi("SHMEM_SYMMETRIC_HEAP_SIZE", "");
  const testing::Variable older("SMA_SYMMETRIC_SIZE", "");
  const auto settle = [](const char* standard, const char* own) {
    setenv("SHMEM_SYMMETRIC_SIZE", standard, 1);
    setenv("SHMEM_SYMMETRIC_HEAP_SIZE", own, 1);
    return settle_heap_size(std::size_t{8} << 20);
  };
  EXPECT_EQ(settle("", ""), std::size_t{9} << 20);
  EXPECT_STREQ(std::getenv("SHMEM_SYMMETRIC_HEAP_SIZE"), "9437184");
  EXPECT_STREQ(std::getenv("SHMEM_SYMMETRIC_SIZE"), "9437184");
  EXPECT_EQ(settle("64M", ""), std::size_t{64} << 20);
  EXPECT_STREQ(std::getenv("SHMEM_SYMMETRIC_HEAP_SIZE"), "67108864");
  EXPECT_EQ(settle("64M", "16M"), std::size_t{16} << 20);
  EXPECT_STREQ(std::getenv("SHMEM_SYMMETRIC_HEAP_SIZE"), "16M");
  EXPECT_THROW(settle("much", ""), InvalidArgument);
  EXPECT_THROW(settle("0", ""), InvalidArgument);
  EXPECT_THROW(settle("", "much"), InvalidArgument);
  EXPECT_THROW(settle("1000T", ""), Unsupported);
  EXPECT_THROW(settle("", "1000T"), Unsupported);
}

}  // namespace
}  // namespace weft::shmem

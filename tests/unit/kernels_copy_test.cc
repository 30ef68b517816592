// Every way to copy, of every instruction set that this machine runs: all short lengths, odd long
// ones and all places within a cache line, with guards on both sides.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/copy_profile.h"
#include "kernels/copy.h"
#include "kernels/isa.h"
#include "kernels/strings.h"

namespace weft::kernels {
namespace {

constexpr std::size_t kLine = 64, kGuard = 512;
constexpr unsigned char kCanary = 0xa5;

using Copy = std::function<void(void*, const void*, std::size_t)>;

// Memory whose first byte lies at a multiple of 4096.
class Room {
 public:
  explicit Room(std::size_t bytes) : bytes_(bytes + 4096) {
    first_ = bytes_.data() + (4096 - reinterpret_cast<std::uintptr_t>(bytes_.data()) % 4096) % 4096;
  }
  unsigned char* at(std::size_t offset) { return first_ + offset; }

 private:
  std::vector<unsigned char> bytes_;
  unsigned char* first_;
};

class CopyCase {
 public:
  CopyCase(std::size_t most) : most_(most), src_(most + 4096), dst_(most + 8192 + 2 * kGuard) {
    // 251 is prime: no two lines of a page are alike.
    for (std::size_t i = 0; i < most + 4096; ++i)
      *src_.at(i) = static_cast<unsigned char>(i * 7 % 251);
  }

  // Empty, or what is wrong after copying `bytes` from place `from` to place `to`.
  std::string check(const Copy& copy, std::size_t bytes, std::size_t to, std::size_t from) {
    unsigned char* const begin = dst_.at(kGuard + to);
    std::memset(begin - kGuard, kCanary, bytes + 2 * kGuard);
    copy(begin, src_.at(from), bytes);
    const std::string what =
        std::to_string(bytes) + " bytes from " + std::to_string(from) + " to " + std::to_string(to);
    if (bytes && std::memcmp(begin, src_.at(from), bytes) != 0) return what + ": other bytes";
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (begin[bytes + i] != kCanary) return what + ": written behind the end";
      if (*(begin - 1 - i) != kCanary) return what + ": written before the beginning";
    }
    return {};
  }

  std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  Room src_, dst_;
};

struct Way {
  std::string name;
  Copy copy;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const Isa& isa : available_isas()) {
    const std::string name(isa.name);
    ways.push_back({name + " plain", isa.table->copy_plain});
    ways.push_back({name + " parts", isa.table->copy_parts});
    ways.push_back({name + " stream", isa.table->copy_stream});
#if defined(__x86_64__)
    for (const bool fetches : {false, true})
      ways.push_back(
          {name + (fetches ? " fetching string" : " string"),
           [plain = isa.table->copy_plain, fetches](void* dst, const void* src, std::size_t bytes) {
             copy_string(dst, src, bytes, plain, fetches);
           }});
#endif
  }
  for (const To to : {To::kOwn, To::kSlot, To::kPeer}) {
    for (const std::size_t whole : {0u, 1u << 30})
      ways.push_back({"chosen " + std::to_string(static_cast<int>(to)),
                      [to, whole](void* dst, const void* src, std::size_t bytes) {
                        copy(dst, src, bytes, Filling(to, whole));
                      }});
  }
  return ways;
}

TEST(Kernels, CopiesOfAllShortLengthsAtAllPlaces) {
  CopyCase all(300);
  for (const Way& way : all_ways()) {
    for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
      for (std::size_t place = 0; place < kLine; ++place) {
        // Each place of the one with three of the other.
        for (const std::size_t other : {std::size_t{0}, place, kLine - 1 - place}) {
          ASSERT_EQ(all.check(way.copy, bytes, place, other), "") << way.name;
          ASSERT_EQ(all.check(way.copy, bytes, other, place), "") << way.name;
        }
      }
    }
  }
}

TEST(Kernels, CopiesOfLongLengthsAtAllPlaces) {
  CopyCase all(70000);
  for (const Way& way : all_ways()) {
    for (const std::size_t bytes :
         {511u, 1021u, 2048u, 4097u, 4160u, 4161u, 8191u, 9999u, 24576u, 69999u}) {
      const std::size_t step = bytes > 9000 ? 7 : 1;
      for (std::size_t place = 0; place < kLine; place += step) {
        ASSERT_EQ(all.check(way.copy, bytes, place, 0), "") << way.name;
        ASSERT_EQ(all.check(way.copy, bytes, 5, place), "") << way.name;
      }
      // What a processor may take for the same address.
      for (const std::size_t distance : {1u, 16u, 48u, 63u, 64u, 2048u, 4032u, 4095u})
        ASSERT_EQ(all.check(way.copy, bytes, distance, kGuard), "") << way.name;
    }
  }
}

TEST(Kernels, ACopyToTheSamePlaceAndToTwoPlaces) {
  std::vector<char> src(20000), one(20000), two(20000);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<char>(i * 13 % 127);
  const std::vector<char> kept = src;
  for (const std::size_t bytes : {0u, 1u, 64u, 65u, 8191u, 8192u, 8193u, 20000u}) {
    copy(src.data(), src.data(), bytes, To::kOwn);
    ASSERT_EQ(src, kept);
    one.assign(one.size(), 0);
    two.assign(two.size(), 0);
    copy({one.data(), To::kOwn}, {two.data(), To::kSlot}, src.data(), bytes);
    ASSERT_TRUE(std::equal(kept.begin(), kept.begin() + static_cast<long>(bytes), one.begin()));
    ASSERT_EQ(one, two);
    if (bytes < one.size()) {
      ASSERT_EQ(one[bytes], 0);
    }
    copy({src.data(), To::kOwn}, {two.data(), To::kSlot}, src.data(), bytes);
    ASSERT_EQ(src, kept);
  }
}

TEST(Kernels, TheLoopGoesByTheCopyAndTheBuffer) {
  constexpr std::size_t kK = 1 << 10, kM = 1 << 20;
  const CopyRule plain, strings{.string_from = 2 * kK, .string_below = 64 * kK},
      fetching{.string_from = 8 * kK, .fetch_from = 2 * kM},
      parts{.string_from = 8 * kK, .parts_from = 24 * kK, .stream_from = 24 * kM},
      early{.parts_from = 1}, pages{.string_below = 64 * kK, .fetch_from = 2 * kM};
  struct Row {
    const CopyRule& rule;
    std::size_t bytes, whole;
    CopyLoop loop;
  };
  for (const Row& row : {Row{plain, 64 * kM, 64 * kM, CopyLoop::kPlain},
                         {strings, 2 * kK - 1, kM, CopyLoop::kPlain},
                         {strings, 2 * kK, kM, CopyLoop::kString},
                         {strings, 64 * kK - 1, kM, CopyLoop::kString},
                         {strings, 64 * kK, kM, CopyLoop::kPlain},
                         {fetching, 8 * kK - 1, 2 * kM, CopyLoop::kPlain},
                         {fetching, 8 * kK, 2 * kM - 1, CopyLoop::kString},
                         {fetching, 8 * kK, 2 * kM, CopyLoop::kFetching},
                         {parts, 24 * kK - 1, 24 * kM - 1, CopyLoop::kString},
                         {parts, 24 * kK, 24 * kM - 1, CopyLoop::kParts},
                         {parts, 24 * kK, 24 * kM, CopyLoop::kStream},
                         {parts, 4 * kK, 24 * kM, CopyLoop::kStream},
                         {parts, 4 * kK - 1, 24 * kM, CopyLoop::kPlain},
                         {early, 4 * kK - 1, kM, CopyLoop::kPlain},
                         {early, 4 * kK, kM, CopyLoop::kParts},
                         {pages, 4 * kK - 1, 2 * kM, CopyLoop::kPlain},
                         {pages, 4 * kK, 2 * kM - 1, CopyLoop::kPlain},
                         {pages, 4 * kK, 2 * kM, CopyLoop::kFetching},
                         {pages, 64 * kK, 2 * kM, CopyLoop::kPlain}})
    EXPECT_EQ(row.rule.loop(row.bytes, row.whole), row.loop) << row.bytes << " of " << row.whole;
}

TEST(Kernels, StringsAreRefusedByLowAddressBits) {
  struct Row {
    std::uintptr_t dst, src;
    bool refused;
  };
  CopyProfile profile;
  const auto refuses = [&](const Row& row) {
    return profile.refuses(reinterpret_cast<void*>(row.dst), reinterpret_cast<void*>(row.src));
  };
  for (const Row& row : {Row{0x5000, 0x2000, false}, {0x5001, 0x2000, false}})
    EXPECT_EQ(refuses(row), row.refused);
  profile.ahead = 64;
  profile.behind = 32;
  for (const Row& row : {Row{0x5001, 0x2000, true},
                         {0x503f, 0x2000, true},
                         {0x5040, 0x2000, false},
                         {0x5000, 0x2000, true},
                         {0x5000, 0x201f, true},
                         {0x5000, 0x2020, false},
                         {0x5800, 0x2000, false}})
    EXPECT_EQ(refuses(row), row.refused) << std::hex << row.dst << " from " << row.src;
}

TEST(Kernels, ARefusedStringIsCopiedByAPlainLoopAndNothingElseIsRefused) {
  const CopyProfile profile{.rules = {}, .ahead = 64};
  const CopyRule rule{
      .string_from = 8192, .fetch_from = 65536, .parts_from = 32768, .stream_from = 1 << 20};
  const auto* const src = reinterpret_cast<const void*>(0x2000);
  for (const std::uintptr_t to : {0x5000, 0x5001, 0x503f, 0x5040}) {
    const auto loop = [&](std::size_t bytes, std::size_t whole) {
      return profile.loop(rule, reinterpret_cast<const void*>(to), src, bytes, whole);
    };
    const bool refused = to == 0x5001 || to == 0x503f;
    EXPECT_EQ(loop(8192, 8192), refused ? CopyLoop::kPlain : CopyLoop::kString) << to;
    EXPECT_EQ(loop(8192, 65536), refused ? CopyLoop::kPlain : CopyLoop::kFetching) << to;
    EXPECT_EQ(loop(8191, 8191), CopyLoop::kPlain);
    EXPECT_EQ(loop(32768, 32768), CopyLoop::kParts);
    EXPECT_EQ(loop(32768, 1 << 20), CopyLoop::kStream);
  }
}

}  // namespace
}  // namespace weft::kernels

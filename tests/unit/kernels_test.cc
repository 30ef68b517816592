// Every loop of every instruction set that this machine runs, against the plain reference.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "kernels/isa.h"
#include "unit/kernels_reference.h"

namespace weft::kernels {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kCounts[] = {0, 1, 3, 17, 64, 1000, 4099};
constexpr std::size_t kMostElements = 4099;
constexpr std::size_t kFromLeft[] = {1, 2, 3, 4, 5, 17};
constexpr std::size_t kAsATree[] = {3, 4, 5, 7, 8, 17, 29};

struct Pair {
  DType dtype;
  ReduceOp op;
};

std::vector<Pair> reducible_pairs() {
  std::vector<Pair> pairs;
  for (int d = 0; d < kDTypes; ++d) {
    for (int o = 0; o < kReduceOps; ++o) {
      const Pair pair{static_cast<DType>(d), static_cast<ReduceOp>(o)};
      if (reducible(pair.dtype, pair.op)) pairs.push_back(pair);
    }
  }
  return pairs;
}

double scale_of(ReduceOp op) {
  return op == ReduceOp::kAvg ? 1.0 / 3.0 : op == ReduceOp::kPremulSum ? -0.7 : 1.0;
}

// Values that go wrong first: zeros, NaNs of several payloads, infinities, denormals, limits.
constexpr float kSpecials[] = {0.0f,      -0.0f,    1.0f,       -1.0f,    0x1p-149f, -0x1p-149f,
                               0x1p-24f,  0x1p-25f, 0x1.8p-25f, 65504.0f, 65519.9f,  65520.0f,
                               0x1p-133f, 3.4e38f,  -3.4e38f,   0x1p-126f};

// `count` elements: random bits of moderate size, and now and then a special.
Bytes random_elements(DType dtype, bool wide, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  const DType stored = wide ? accumulator_of(dtype) : dtype;
  Bytes bytes(count * size_of(stored));
  auto special = [&]() -> float {
    const auto which = random() % 19;
    if (which < 16) return kSpecials[which];
    if (which == 16) return std::bit_cast<float>(0xffc12345u);
    return which == 17 ? INFINITY : -INFINITY;
  };
  reference::with_codec(stored, [&]<class C>(C) {
    using Acc = typename C::Acc;
    for (std::size_t i = 0; i < count; ++i) {
      auto real = [&] {
        const bool rare = random() % 8 == 0;
        return rare ? special()
                    : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 512;
      };
      std::byte* at = bytes.data() + i * size_of(stored);
      if constexpr (reference::kComplex<Acc>) {
        using Part = typename Acc::value_type;
        C::write(at, false, {static_cast<Part>(real()), static_cast<Part>(real())});
      } else if constexpr (std::is_floating_point_v<Acc>) {
        C::write(at, false, static_cast<Acc>(real()));
      } else {
        const std::uint64_t bits = random();
        std::memcpy(at, &bits, size_of(stored));
      }
    }
  });
  return bytes;
}

// Source number `k` of every row, made once.
const Bytes& row_elements(DType dtype, bool wide, std::size_t k) {
  static std::map<std::tuple<DType, bool, std::size_t>, Bytes> made;
  Bytes& bytes = made[{dtype, wide, k}];
  if (bytes.empty()) bytes = random_elements(dtype, wide, kMostElements, 7 + unsigned(k));
  return bytes;
}

// Which of the sources and targets are wide.
enum class Mix { kNone, kAll, kFirstSource, kLastSource, kTargets, kSecondTarget };

bool source_wide(Mix mix, std::size_t k, std::size_t sources) {
  return mix == Mix::kAll || (mix == Mix::kFirstSource && k == 0) ||
         (mix == Mix::kLastSource && k + 1 == sources);
}

bool target_wide(Mix mix, std::size_t t) {
  return mix == Mix::kAll || mix == Mix::kTargets || (mix == Mix::kSecondTarget && t == 1);
}

std::vector<Mix> mixes_of(DType dtype) {
  if (!is_narrow(dtype)) return {Mix::kNone};
  return {Mix::kNone,       Mix::kAll,     Mix::kFirstSource,
          Mix::kLastSource, Mix::kTargets, Mix::kSecondTarget};
}

// Memory at an odd address, with a fence behind it.
class Placed {
 public:
  Placed(std::size_t bytes, std::size_t offset) : offset_(offset) {
    memory_.assign(offset + bytes + kFence, std::byte{0xa5});
  }
  Placed(const std::byte* content, std::size_t bytes, std::size_t offset) : Placed(bytes, offset) {
    std::copy(content, content + bytes, data());
  }
  std::byte* data() { return memory_.data() + offset_; }
  bool holds(const std::byte* expected) const {
    return std::equal(memory_.begin() + static_cast<long>(offset_), memory_.end() - kFence,
                      expected);
  }
  bool fence_stands() const {
    auto untouched = [](std::byte b) { return b == std::byte{0xa5}; };
    return std::all_of(memory_.end() - kFence, memory_.end(), untouched) &&
           std::all_of(memory_.begin(), memory_.begin() + static_cast<long>(offset_), untouched);
  }

 private:
  static constexpr long kFence = 128;
  std::size_t offset_;
  Bytes memory_;
};

// One row of the table: a pair, a number of sources, a mixture of wide operands.
class Row {
 public:
  Row(Pair pair, std::size_t sources, Mix mix, Order order = Order::kFromLeft)
      : pair_(pair), mix_(mix), order_(order) {
    for (std::size_t k = 0; k < sources; ++k) {
      const bool wide = source_wide(mix, k, sources);
      inputs_.push_back({row_elements(pair.dtype, wide, k).data(), wide});
    }
    for (bool wide : {false, true}) {
      expected_[wide] = reference::reduce(pair.dtype, pair.op, inputs_, kMostElements,
                                          scale_of(pair.op), wide, order);
    }
  }

  // The bytes that are wrong somewhere: empty if all is well.
  std::string run(const Isa& isa, std::size_t count, std::size_t targets, std::size_t offset) {
    std::vector<Placed> sources, results;
    std::vector<Source> src;
    std::vector<Target> dst;
    for (const reference::Input& input : inputs_) {
      sources.emplace_back(input.data, count * element_bytes(input.wide),
                           offset * (sources.size() + 1) % 64);
      src.push_back({sources.back().data(), input.wide});
    }
    for (std::size_t t = 0; t < targets; ++t) {
      const bool wide = target_wide(mix_, t);
      results.emplace_back(count * element_bytes(wide), offset * (t + 3) % 64);
      dst.push_back({results.back().data(), wide});
    }
    isa.table->at(pair_.dtype, pair_.op)(src, dst, count, scale_of(pair_.op), order_);
    for (std::size_t t = 0; t < targets; ++t) {
      if (!results[t].holds(expected_[target_wide(mix_, t)].data())) return "wrong bits";
      if (!results[t].fence_stands()) return "wrote outside of the target";
    }
    return "";
  }

 private:
  std::size_t element_bytes(bool wide) const {
    return size_of(wide ? accumulator_of(pair_.dtype) : pair_.dtype);
  }

  Pair pair_;
  Mix mix_;
  Order order_;
  std::vector<reference::Input> inputs_;
  Bytes expected_[2];  // narrow, wide
};

std::string describe(const Isa& isa, Pair pair) {
  return std::string(isa.name) + " " + std::string(name_of(pair.dtype)) + " " +
         std::string(name_of(pair.op));
}

void expect_the_reference(Pair pair, std::size_t sources, Mix mix, Order order) {
  Row row(pair, sources, mix, order);
  for (const Isa& isa : available_isas()) {
    for (std::size_t count : kCounts) {
      const std::size_t targets = 1 + (count + sources) % 2;
      EXPECT_EQ(row.run(isa, count, targets, 0), "")
          << describe(isa, pair) << ", " << sources << " sources, " << count << " elements";
      EXPECT_EQ(row.run(isa, count, 3 - targets, 5), "")
          << describe(isa, pair) << ", " << sources << " sources, " << count
          << " elements, unaligned";
    }
  }
}

TEST(Kernels, EveryPairMatchesTheReference) {
  for (Pair pair : reducible_pairs())
    for (std::size_t sources : kFromLeft)
      for (Mix mix : mixes_of(pair.dtype))
        expect_the_reference(pair, sources, mix, Order::kFromLeft);
}

// Of the other pairs the order shows in no bit: they are added up by the loops above.
TEST(Kernels, EveryPairOfFloatsMatchesTheReferenceAsATree) {
  for (Pair pair : reducible_pairs())
    if (reducible(pair.dtype, ReduceOp::kAvg) && pair.op != ReduceOp::kPremulSum)
      for (std::size_t sources : kAsATree)
        for (Mix mix : mixes_of(pair.dtype)) expect_the_reference(pair, sources, mix, Order::kTree);
}

TEST(Kernels, EveryShortCountMatchesTheReference) {
  for (Pair pair : reducible_pairs()) {
    Row two(pair, 2, Mix::kNone), three(pair, 3, Mix::kNone);
    for (const Isa& isa : available_isas()) {
      for (std::size_t count = 0; count < 140; ++count) {
        EXPECT_EQ(two.run(isa, count, 2, 1), "") << describe(isa, pair) << " " << count;
        EXPECT_EQ(three.run(isa, count, 1, 1), "") << describe(isa, pair) << " " << count;
      }
    }
  }
}

TEST(Kernels, ATargetMayBeASource) {
  constexpr std::size_t kCount = 1003;
  for (Pair pair : reducible_pairs()) {
    for (const Isa& isa : available_isas()) {
      for (std::size_t aliased = 0; aliased < 3; ++aliased) {
        std::vector<Bytes> elements;
        std::vector<reference::Input> inputs;
        std::vector<Source> src;
        for (unsigned k = 0; k < 3; ++k) {
          elements.push_back(random_elements(pair.dtype, false, kCount, k));
        }
        for (const Bytes& bytes : elements) {
          inputs.push_back({bytes.data(), false});
          src.push_back({bytes.data()});
        }
        const Bytes expected =
            reference::reduce(pair.dtype, pair.op, inputs, kCount, 1.0, false, Order::kFromLeft);
        Bytes other(expected.size());
        const std::vector<Target> dst = {{elements[aliased].data()}, {other.data()}};
        isa.table->at(pair.dtype, pair.op)(src, dst, kCount, 1.0, Order::kFromLeft);
        EXPECT_EQ(elements[aliased], expected) << describe(isa, pair) << " over " << aliased;
        EXPECT_EQ(other, expected) << describe(isa, pair);
      }
    }
  }
}

// Each special against each, both ways round.
TEST(Kernels, SwappedSourcesGiveTheSameBits) {
  for (Pair pair : reducible_pairs()) {
    const std::size_t count = 512;
    const Bytes a = random_elements(pair.dtype, false, count, 1);
    for (std::size_t turn = 0; turn < count; turn += 7) {
      Bytes b(a);
      std::rotate(b.begin(), b.begin() + static_cast<long>(turn * size_of(pair.dtype)), b.end());
      for (const Isa& isa : available_isas()) {
        Bytes one(a.size()), two(a.size());
        const std::vector<Source> forth = {{a.data()}, {b.data()}}, back = {{b.data()}, {a.data()}};
        const std::vector<Target> to_one = {{one.data()}}, to_two = {{two.data()}};
        const double scale = scale_of(pair.op);
        isa.table->at(pair.dtype, pair.op)(forth, to_one, count, scale, Order::kFromLeft);
        isa.table->at(pair.dtype, pair.op)(back, to_two, count, scale, Order::kFromLeft);
        EXPECT_EQ(one, two) << describe(isa, pair);
      }
    }
  }
}

// What `consistent` rests on: a + b and b + a have the same bits for each pair of zeros, NaNs of
// all kinds, infinities and denormals, in every register width.
TEST(Kernels, CommuteOnEachPairOfSpecials) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> specials = {0.0,       -0.0,     1.0,     -1.0,     INFINITY,
                                        -INFINITY, nan,      nan,     0x1p-149, -0x1p-149,
                                        0x1p-133,  0x1p-127, 0x1p-24, 3.4e38,   -3.4e38};
  for (Pair pair : reducible_pairs()) {
    reference::with_codec(pair.dtype, [&]<class C>(C) {
      using Acc = typename C::Acc;
      if constexpr (std::is_floating_point_v<Acc>) {
        const std::size_t size = size_of(pair.dtype), n = specials.size(), count = n * n;
        Bytes a(count * size), b(count * size);
        auto put = [&](Bytes& bytes, std::size_t at, std::size_t which) {
          std::byte* element = bytes.data() + at * size;
          C::write(element, false, static_cast<Acc>(specials[which]));
          // The codec knows one NaN; the second here has a sign and a payload.
          if (which == 7) element[0] |= std::byte{5}, element[size - 1] |= std::byte{0x80};
        };
        for (std::size_t i = 0; i < count; ++i) {
          put(a, i, i / n);
          put(b, i, i % n);
        }
        for (const Isa& isa : available_isas()) {
          Bytes forth(a.size()), back(a.size());
          const std::vector<Source> ab = {{a.data()}, {b.data()}}, ba = {{b.data()}, {a.data()}};
          const std::vector<Target> to_forth = {{forth.data()}}, to_back = {{back.data()}};
          isa.table->at(pair.dtype, pair.op)(ab, to_forth, count, scale_of(pair.op),
                                             Order::kFromLeft);
          isa.table->at(pair.dtype, pair.op)(ba, to_back, count, scale_of(pair.op),
                                             Order::kFromLeft);
          EXPECT_EQ(forth, back) << describe(isa, pair);
        }
      }
    });
  }
}

// What a thread has asked of its processor: for as long as this lives.
class OtherArithmetic {
 public:
  OtherArithmetic() {
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // denormals are zero, both ways
#endif
  }
  ~OtherArithmetic() { std::fesetenv(FE_DFL_ENV); }
};

TEST(Kernels, ThreadsModesShowInNoBitAndAreKept) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kC64}) {
    for (Order order : {Order::kFromLeft, Order::kTree}) {
      Row row({dtype, ReduceOp::kAvg}, 5, Mix::kNone, order);
      for (const Isa& isa : available_isas()) {
        OtherArithmetic other;
        std::string wrong = row.run(isa, 1000, 1, 0);
        const bool kept = std::fegetround() == FE_UPWARD;
        EXPECT_TRUE(wrong.empty() && kept) << isa.name << " " << name_of(dtype) << " " << wrong;
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels

// Reproducible communicators: the bits are those of one tree over the ranks, whatever runs.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "algorithms/registry.h"
#include "support/ranks.h"
#include "support/variable.h"
#include "unit/kernels_reference.h"
#include "weft/error.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

using Bytes = std::vector<std::byte>;

// A count that leaves blocks and chunks of unequal sizes, and some of one element.
constexpr std::size_t kCount = 5003;

// Sums of these depend on the order: sizes from denormal to 2^20, of both signs; a few infinities
// and NaNs.
Bytes elements(DType dtype, int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 17);
  Bytes bytes(count * size_of(dtype));
  reference::with_codec(dtype, [&]<class C>(C) {
    auto value = [&] {
      const int exponent = static_cast<int>(random() % 40) - 20;
      const float fraction = static_cast<float>(random() % 4096) / 2048 - 1;
      if (random() % 512 == 0) return fraction < 0 ? NAN : INFINITY;
      return std::ldexp(fraction, random() % 16 == 0 ? -133 : exponent);
    };
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* at = bytes.data() + i * size_of(dtype);
      if constexpr (reference::kComplex<typename C::Acc>) {
        using Part = typename C::Acc::value_type;
        C::write(at, false, {Part(value()), Part(value())});
      } else {
        C::write(at, false, static_cast<typename C::Acc>(value()));
      }
    }
  });
  return bytes;
}

double scale_of(ReduceOp op, int ranks) { return op == ReduceOp::kAvg ? 1.0 / ranks : 1.0; }

// What every rank's input adds up to, by the definition.
Bytes expected(DType dtype, ReduceOp op, int ranks, std::size_t count) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(elements(dtype, rank, count));
  std::vector<reference::Input> all;
  for (const Bytes& input : inputs) all.push_back({input.data(), false});
  return reference::reduce(dtype, op, all, count, scale_of(op, ranks), false,
                           kernels::Order::kTree);
}

struct Case {
  DType dtype;
  ReduceOp op;
};
constexpr Case kCases[] = {{DType::kF32, ReduceOp::kSum},  {DType::kBF16, ReduceOp::kSum},
                           {DType::kBF16, ReduceOp::kAvg}, {DType::kF16, ReduceOp::kAvg},
                           {DType::kF64, ReduceOp::kProd}, {DType::kC64, ReduceOp::kSum}};

void expect_allreduce(Communicator& comm, Case c, const char* algorithm, const Bytes& wanted) {
  const std::size_t bytes = kCount * size_of(c.dtype);
  const Bytes mine = elements(c.dtype, comm.rank(), kCount);
  auto memory = symmetric_alloc(*comm.fabric(), bytes);
  std::memcpy(memory.get(), mine.data(), bytes);
  Call call{Collective::kAllreduce, memory.get(), memory.get(), kCount, c.dtype, c.op};
  call.algorithm = algorithm;
  comm.run(call);
  EXPECT_EQ(std::memcmp(memory.get(), wanted.data(), bytes), 0)
      << comm.algorithm_for(call) << ", " << comm.size() << " ranks, " << name_of(c.dtype) << " "
      << name_of(c.op);
}

void expect_reduce(Communicator& comm, Case c, int root, const Bytes& wanted) {
  const Bytes mine = elements(c.dtype, comm.rank(), kCount);
  Bytes out(mine.size());
  comm.run({Collective::kReduce, mine.data(), out.data(), kCount, c.dtype, c.op, root});
  EXPECT_TRUE(comm.rank() != root || out == wanted) << "reduce to " << root;
}

void expect_reduce_scatter(Communicator& comm, Case c) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const Bytes mine = elements(c.dtype, comm.rank(), 701 * ranks);
  const Bytes wanted = expected(c.dtype, c.op, comm.size(), 701 * ranks);
  Bytes out(701 * size_of(c.dtype));
  comm.run({Collective::kReduceScatter, mine.data(), out.data(), 701, c.dtype, c.op});
  EXPECT_EQ(
      std::memcmp(out.data(), wanted.data() + out.size() * static_cast<std::size_t>(comm.rank()),
                  out.size()),
      0)
      << "reduce_scatter, " << ranks << " ranks, " << name_of(c.dtype);
}

bool serves(const std::string& algorithm, int ranks) {
  return algorithm.empty() ||
         refusal(find_algorithm(algorithm, Collective::kAllreduce), ranks, {}).empty();
}

class Reproducible : public ::testing::TestWithParam<int> {};

TEST_P(Reproducible, BitsAreThoseOfTheTree) {
  const int ranks = GetParam();
  std::vector<Bytes> wanted;
  for (const Case& c : kCases) wanted.push_back(expected(c.dtype, c.op, ranks, kCount));
  Variable reproducible("WEFT_REPRODUCIBLE", "1");
  for (const char* chunk : {"64", "1024", "131072"}) {
    Variable chunks("WEFT_CHUNK", chunk);
    run_ranks(ranks, [&](Communicator& comm) {
      for (std::size_t i = 0; i < std::size(kCases); ++i) {
        for (const char* algorithm : {"", "one_shot", "two_shot", "direct", "tree_levels"})
          if (serves(algorithm, ranks)) expect_allreduce(comm, kCases[i], algorithm, wanted[i]);
        expect_reduce(comm, kCases[i], comm.size() - 1, wanted[i]);
        expect_reduce_scatter(comm, kCases[i]);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Reproducible, ::testing::ValuesIn(kRankCounts),
                         [](const auto& info) { return std::to_string(info.param); });

// Nodes of four, whose sums travel before they are rounded.
TEST(Reproducibility, LevelsAddUpAsOneTree) {
  constexpr int kRanks = 16;
  Variable reproducible("WEFT_REPRODUCIBLE", "1");
  std::vector<Bytes> wanted;
  for (const Case& c : kCases) wanted.push_back(expected(c.dtype, c.op, kRanks, kCount));
  run_ranks(kRanks, [&](Communicator& comm) {
    for (std::size_t i = 0; i < std::size(kCases); ++i)
      expect_allreduce(comm, kCases[i], "tree_levels", wanted[i]);
  });
}

TEST(Reproducibility, NodesThatAreNoSubtreesAreRefused) {
  const Algorithm algorithm = find_algorithm("allreduce/tree_levels");
  EXPECT_NE(refusal(algorithm, 12, {{"node", 3}}).find("no subtrees"), std::string::npos);
  EXPECT_NE(refusal(algorithm, 12, {{"node", 8}}).find("divide"), std::string::npos);
  EXPECT_EQ(refusal(algorithm, 12, {{"node", 4}}), "");
}

// The inputs above would show it.
TEST(Reproducibility, OtherOrdersHaveOtherBits) {
  const Bytes wanted = expected(DType::kF32, ReduceOp::kSum, 5, kCount);
  run_ranks(5, [&](Communicator& comm) {
    const Bytes mine = elements(DType::kF32, comm.rank(), kCount);
    Bytes out(mine.size());
    Call call{Collective::kAllreduce, mine.data(), out.data(), kCount, DType::kF32};
    call.algorithm = "ring";
    comm.run(call);
    EXPECT_NE(out, wanted);
  });
}

TEST(Reproducibility, OneRankThatAsksIsEnough) {
  run_ranks(
      17,
      [](Communicator& comm) {
        // More than is added up everywhere where ranks share cores.
        std::vector<float> values(2000, 1.0f);
        const auto algorithm = [&](Collective collective, DType dtype, ReduceOp op) {
          return comm.algorithm_for(
              {collective, values.data(), values.data(), values.size(), dtype, op});
        };
        using C = Collective;
        EXPECT_EQ(algorithm(C::kAllreduce, DType::kF32, ReduceOp::kSum), "allreduce/two_shot");
        EXPECT_EQ(algorithm(C::kReduce, DType::kF32, ReduceOp::kAvg), "reduce/direct");
        // The order shows in no bit of these.
        const std::string groups =
            "allreduce/multi_leader(inner=direct,leaders=8,node=8,outer=recursive_doubling)";
        EXPECT_EQ(algorithm(C::kAllreduce, DType::kF32, ReduceOp::kMax), groups);
        EXPECT_EQ(algorithm(C::kAllreduce, DType::kI32, ReduceOp::kSum), groups);
      },
      [](int rank, CommunicatorOptions& options) { options.reproducible = rank == 3; });
}

TEST(Reproducibility, AnAlgorithmThatIsNotIsRefused) {
  auto ring = [](Communicator& comm, DType dtype) {
    std::int32_t x = 0;
    Call call{Collective::kAllreduce, &x, &x, 1, dtype};
    call.algorithm = "lr";
    comm.run(call);
  };
  auto ask = [](int, CommunicatorOptions& options) { options.reproducible = true; };
  run_ranks(
      2,
      [&](Communicator& comm) {
        try {
          ring(comm, DType::kF32);
          ADD_FAILURE() << "accepted";
        } catch (const Unsupported& error) {
          const std::string text = error.what();
          for (const char* word : {"allreduce/ring", "allreduce/one_shot", "reproducible"})
            EXPECT_NE(text.find(word), std::string::npos) << text;
        }
        ring(comm, DType::kI32);  // and nothing is harmed
      },
      ask);
  Variable variable("WEFT_ALGORITHM", "allreduce=ring");
  run_ranks(
      2,
      [&](Communicator& comm) {
        EXPECT_THROW(expect_allreduce(comm, kCases[0], "", {}), Unsupported);
      },
      ask);
}

TEST(Reproducibility, TheVariableIsZeroOrOne) {
  Variable variable("WEFT_REPRODUCIBLE", "yes");
  EXPECT_THROW(run_ranks(1, [](Communicator&) {}), InvalidArgument);
}

}  // namespace
}  // namespace weft::testing

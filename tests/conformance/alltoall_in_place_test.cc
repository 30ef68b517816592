// Alltoall whose output is its input: over every fabric, by plans that claim it and by others.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "conformance/fabrics.h"
#include "support/ranks.h"
#include "support/values.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using C = Collective;
using Counts = std::vector<std::size_t>;

// In the message itself, one chunk, many chunks with a tail.
constexpr std::size_t kCounts[] = {0, 1, 1001, 40001};

// Elements that two ranks exchange, some pairs none.
std::size_t exchanged(int a, int b, std::size_t scale) {
  return static_cast<std::size_t>((a + b) % 3) * scale + static_cast<std::size_t>(a * b % 2);
}

double value(int from, int to, std::size_t i) {
  return static_cast<double>((static_cast<std::size_t>(from * 5 + to * 3) + i) % 7);
}

struct Exchange {
  std::string_view algorithm;
  DType dtype;
  Counts counts;      // with each rank
  bool says = false;  // passes the counts, also where they are equal
  bool in_place = true;
};

// Runs it on this rank and compares.
void exchange(Communicator& comm, const Exchange& e) {
  std::size_t total = 0;
  for (std::size_t count : e.counts) total += count;
  Array input(e.dtype, total), output(e.dtype, total), want(e.dtype, total);
  std::size_t at = 0;
  for (int peer = 0; peer < comm.size(); ++peer) {
    const std::size_t count = e.counts[static_cast<std::size_t>(peer)];
    input.fill(at, count, count, [&](std::size_t i) { return value(comm.rank(), peer, i); });
    want.fill(at, count, count, [&](std::size_t i) { return value(peer, comm.rank(), i); });
    at += count;
  }
  Array& result = e.in_place ? input : output;
  Call call{C::kAlltoall, input.data(), result.data(), e.counts[0], e.dtype};
  call.algorithm = e.algorithm;
  if (e.says) call.input_counts = call.output_counts = e.counts;
  comm.run(call);
  EXPECT_TRUE(result.guards_intact());
  EXPECT_TRUE(want.same_bytes(result, 0)) << "rank " << comm.rank() << ", " << e.algorithm;
}

const char* const kAlgorithms[] = {"", "direct", "pairwise", "two_level", "staged"};

class AlltoallInPlace : public ::testing::TestWithParam<std::tuple<FabricKind, int>> {
 protected:
  static int ranks() { return std::get<1>(GetParam()); }
  static void run(const std::function<void(Communicator&)>& body) {
    run_ranks(ranks(), body, [](int, CommunicatorOptions& options) {
      options.fabric = std::get<0>(GetParam()).make();
    });
  }
};

TEST_P(AlltoallInPlace, EqualCounts) {
  run([](Communicator& comm) {
    for (const char* algorithm : kAlgorithms)
      for (DType dtype : {DType::kU8, DType::kC128})
        for (std::size_t count : kCounts)
          exchange(comm, {algorithm, dtype, Counts(static_cast<std::size_t>(ranks()), count)});
  });
}

TEST_P(AlltoallInPlace, CountsByPair) {
  run([](Communicator& comm) {
    for (std::size_t scale : {3, 10007}) {
      Counts counts;
      for (int peer = 0; peer < ranks(); ++peer)
        counts.push_back(exchanged(comm.rank(), peer, scale));
      for (const char* algorithm : {"", "direct", "pairwise", "staged"})
        exchange(comm, {algorithm, DType::kF64, counts, true});
    }
  });
}

// Of a loop: each call exchanges what is there then, also after a longer one.
TEST_P(AlltoallInPlace, TheSameBuffersAgain) {
  run([](Communicator& comm) {
    const auto blocks = static_cast<std::size_t>(ranks());
    double value = 0;
    for (const char* algorithm : kAlgorithms) {
      std::vector<double> brief(9 * blocks), longer(700 * blocks);
      for (int turn = 0; turn < 3; ++turn) {
        for (std::vector<double>* x : {&brief, &brief, &longer}) {
          std::ranges::fill(*x, ++value + comm.rank());
          Call call{C::kAlltoall, x->data(), x->data(), x->size() / blocks, DType::kF64};
          call.algorithm = algorithm;
          comm.run(call);
          for (std::size_t i = 0; i < x->size(); ++i)
            ASSERT_EQ((*x)[i], value + static_cast<double>(i * blocks / x->size())) << algorithm;
        }
      }
    }
  });
}

// Where one rank's buffers lie is no affair of the others.
TEST_P(AlltoallInPlace, OnSomeRanksOnly) {
  run([](Communicator& comm) {
    for (const char* algorithm : {"direct", "pairwise", "staged"})
      exchange(comm, {algorithm, DType::kF32, Counts(static_cast<std::size_t>(ranks()), 5003),
                      false, comm.rank() % 2 == 0});
  });
}

// The copy is made when the call's turn comes: what was queued before writes the same memory.
TEST_P(AlltoallInPlace, QueuedBehindWhatWritesIt) {
  run([](Communicator& comm) {
    const std::size_t count = 4001, all = count * static_cast<std::size_t>(ranks());
    std::vector<double> x(all, static_cast<double>(comm.rank() + 1));
    std::vector<Request> requests;
    for (int turn = 0; turn < 3; ++turn) {
      requests.push_back(comm.submit({C::kAllreduce, x.data(), x.data(), all, DType::kF64}));
      requests.push_back(comm.submit({C::kAlltoall, x.data(), x.data(), count, DType::kF64}));
    }
    for (const Request& request : requests) request.wait();
    double sum = 0;
    for (int rank = 0; rank < ranks(); ++rank) sum += rank + 1;
    EXPECT_EQ(x, std::vector<double>(all, sum * ranks() * ranks()));
  });
}

TEST_P(AlltoallInPlace, SymmetricMemory) {
  run([](Communicator& comm) {
    const std::size_t count = 5003, all = count * static_cast<std::size_t>(ranks());
    const auto memory = symmetric_alloc(*comm.fabric(), all * sizeof(int));
    auto* x = static_cast<int*>(memory.get());
    for (const char* algorithm : kAlgorithms) {
      for (std::size_t i = 0; i < all; ++i) x[i] = comm.rank() * 100 + static_cast<int>(i / count);
      Call call{C::kAlltoall, x, x, count, DType::kI32};
      call.algorithm = algorithm;
      comm.run(call);
      for (std::size_t i = 0; i < all; i += count / 3)
        ASSERT_EQ(x[i], static_cast<int>(i / count) * 100 + comm.rank()) << algorithm;
    }
  });
}

TEST_P(AlltoallInPlace, OtherOverlapsAndCountsAreRefused) {
  run([](Communicator& comm) {
    if (ranks() == 1) return;
    const auto size = static_cast<std::size_t>(ranks());
    std::vector<float> x(4 * size + 1);
    Call shifted{C::kAlltoall, x.data(), x.data() + 1, 4, DType::kF32};
    EXPECT_THROW(comm.run(shifted), InvalidArgument);
    Counts in(size, 2), out(size, 2);
    in[0] = out[1] = 1;
    Call differs{C::kAlltoall, x.data(), x.data(), 0, DType::kF32};
    differs.input_counts = in;
    differs.output_counts = out;
    EXPECT_THROW(comm.run(differs), InvalidArgument);
    Call one_side{C::kAlltoall, x.data(), x.data(), 2, DType::kF32};
    one_side.output_counts = out;
    EXPECT_THROW(comm.run(one_side), InvalidArgument);
    exchange(comm, {"", DType::kF32, Counts(size, 9)});  // the group is as good as before
  });
}

INSTANTIATE_TEST_SUITE_P(All, AlltoallInPlace,
                         ::testing::Combine(::testing::ValuesIn(fabric_kinds()),
                                            ::testing::ValuesIn(kRankCounts)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace weft::testing

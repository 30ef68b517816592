// Counts that differ by rank, zeros among them: every algorithm of the collectives that take
// counts x ranks 1-5, 8 x a size within a message and one of many chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/ranks.h"
#include "weft/error.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

using C = Collective;
using Counts = std::vector<std::size_t>;

int value(int from, int to, std::size_t i) {
  return from * 1000000 + to * 10000 + static_cast<int>(i % 9973);
}

// Elements that rank `from` has for rank `to`; every third pair has none.
std::size_t count(int from, int to, std::size_t scale) {
  return static_cast<std::size_t>((from * 2 + to) % 3) * scale + static_cast<std::size_t>(from % 2);
}

class Uneven : public ::testing::TestWithParam<std::tuple<std::string, int, std::size_t>> {
 protected:
  // Elements of the block of rank `owner`, where counts go by owner alone.
  std::size_t owned(int owner) const { return count(owner, 0, scale_); }

  Counts owned_by_all(int ranks) const {
    Counts counts;
    for (int rank = 0; rank < ranks; ++rank) counts.push_back(owned(rank));
    return counts;
  }

  void alltoall(Communicator& comm, Call call) {
    Counts in, out;
    std::vector<int> input, expected;
    for (int peer = 0; peer < comm.size(); ++peer) {
      in.push_back(count(comm.rank(), peer, scale_));
      out.push_back(count(peer, comm.rank(), scale_));
      for (std::size_t i = 0; i < in.back(); ++i) input.push_back(value(comm.rank(), peer, i));
      for (std::size_t i = 0; i < out.back(); ++i) expected.push_back(value(peer, comm.rank(), i));
    }
    std::vector<int> output(expected.size(), -1);
    call.input = input.data();
    call.output = output.data();
    call.input_counts = in;
    call.output_counts = out;
    const Plan plan = make_plan(call.algorithm, comm.size());
    if (plan.shape.equal_counts && comm.size() > 1) {
      EXPECT_THROW(comm.run(call), Unsupported);
      return;
    }
    comm.run(call);
    EXPECT_EQ(output, expected) << "rank " << comm.rank();
  }

  void gather(Communicator& comm, Call call, bool everywhere) {
    Counts counts = owned_by_all(comm.size());
    bool gets = everywhere || comm.rank() == call.root;
    std::vector<int> input, expected;
    for (std::size_t i = 0; i < owned(comm.rank()); ++i) input.push_back(value(comm.rank(), 0, i));
    for (int rank = 0; gets && rank < comm.size(); ++rank)
      for (std::size_t i = 0; i < owned(rank); ++i) expected.push_back(value(rank, 0, i));
    std::vector<int> output(expected.size(), -1);
    call.input = input.data();
    call.output = output.data();
    call.count = input.size();
    if (gets) call.output_counts = counts;
    comm.run(call);
    EXPECT_EQ(output, expected) << "rank " << comm.rank();
  }

  void scatter(Communicator& comm, Call call, bool reduces) {
    Counts counts = owned_by_all(comm.size());
    bool gives = reduces || comm.rank() == call.root;
    std::vector<int> input, expected;
    for (int rank = 0; gives && rank < comm.size(); ++rank)
      for (std::size_t i = 0; i < owned(rank); ++i) input.push_back(value(1, rank, i));
    int times = reduces ? comm.size() : 1;
    for (std::size_t i = 0; i < owned(comm.rank()); ++i)
      expected.push_back(times * value(1, comm.rank(), i));
    std::vector<int> output(expected.size(), -1);
    call.input = input.data();
    call.output = output.data();
    call.count = output.size();
    if (gives) call.input_counts = counts;
    comm.run(call);
    EXPECT_EQ(output, expected) << "rank " << comm.rank();
  }

  std::size_t scale_ = 1;
};

TEST_P(Uneven, Correct) {
  auto [algorithm, ranks, scale] = GetParam();
  scale_ = scale;
  C c = find_algorithm(algorithm).collective;
  run_ranks(ranks, [&, algorithm = algorithm](Communicator& comm) {
    for (int root = 0; root < comm.size(); ++root) {
      Call call;
      call.collective = c;
      call.dtype = DType::kI32;
      call.root = root;
      call.algorithm = algorithm;
      switch (c) {
        case C::kAlltoall:
          alltoall(comm, call);
          break;
        case C::kAllgather:
          gather(comm, call, true);
          break;
        case C::kGather:
          gather(comm, call, false);
          break;
        case C::kReduceScatter:
          scatter(comm, call, true);
          break;
        default:
          scatter(comm, call, false);
          break;
      }
    }
  });
}

std::vector<std::string> algorithms_with_counts() {
  std::vector<std::string> names;
  for (const std::string& name : builtin_algorithm_names()) {
    C c = find_algorithm(name).collective;
    if (c == C::kAlltoall || c == C::kAllgather || c == C::kGather || c == C::kReduceScatter ||
        c == C::kScatter)
      names.push_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Uneven,
                         ::testing::Combine(::testing::ValuesIn(algorithms_with_counts()),
                                            ::testing::ValuesIn(kRankCounts),
                                            ::testing::Values(std::size_t{3}, std::size_t{70001})),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name + "_" + std::to_string(std::get<1>(info.param)) + "_" +
                                  std::to_string(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace weft::testing

// Plans that nobody has proved: an algorithm is proved for 1 .. 5 and 8 ranks when it is
// registered, and may be wrong on 6. A wrong step ends the call, before it harms a stream or
// memory.
#include <gtest/gtest.h>

#include <string>

#include "support/ranks.h"
#include "weft/builder.h"
#include "weft/error.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

constexpr int kRanks = 6;

// What rank 0 does, chunk by chunk, with rank 1's messages, which go with block 1 of the output.
using Take = std::function<void(Builder&, int channel)>;

// All to all; of six ranks rank 0 takes rank 1's messages in its own way.
Algorithm algorithm(const std::string& name, const Take& take) {
  Algorithm algorithm;
  algorithm.name = "allgather/" + name;
  algorithm.collective = Collective::kAllgather;
  algorithm.write = [take](Builder& b) {
    const int ch = b.channel(2 * b.ranks()), me = b.rank();
    b.chunks([&] {
      b.copy({b.output(me)}, b.input());
      for (int peer = 0; peer < b.ranks(); ++peer)
        if (peer != me) b.put(b.input(), {peer}, ch);
      for (int peer = 0; peer < b.ranks(); ++peer) {
        if (peer == me) continue;
        if (b.ranks() == kRanks && me == 0 && peer == 1) {
          take(b, ch);
          continue;
        }
        b.wait(peer, ch, b.output(peer));
        b.copy({b.output(peer)}, b.slot(peer, ch));
        b.credit(peer, ch, b.output(peer));
      }
    });
  };
  return algorithm;
}

struct Row {
  const char* name;
  Take take;
  const char* says;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

const std::vector<Row> kRows = {
    {"credits_first",
     [](Builder& b, int ch) {
       b.credit(1, ch, b.output(1));
       b.wait(1, ch, b.output(1));
       b.copy({b.output(1)}, b.slot(1, ch));
     },
     "rank 0 credits a message of rank 1 that it has not received at step"},
    {"credits_twice",
     [](Builder& b, int ch) {
       b.wait(1, ch, b.output(1));
       b.copy({b.output(1)}, b.slot(1, ch));
       b.credit(1, ch, b.output(1));
       b.credit(1, ch, b.output(1));
     },
     "rank 0 credits a message of rank 1 that it has not received at step"},
    {"credits_by_another_block",
     [](Builder& b, int ch) {
       b.wait(1, ch, b.output(1));
       b.copy({b.output(1)}, b.slot(1, ch));
       b.credit(1, ch, b.output(0));
     },
     "rank 0 credits a message of rank 1 that it has not received at step"},
    {"reads_first",
     [](Builder& b, int ch) {
       b.copy({b.output(1)}, b.slot(1, ch));
       b.wait(1, ch, b.output(1));
       b.credit(1, ch, b.output(1));
     },
     "rank 0 reads a message of rank 1 that it has not received at step"},
    {"reads_another_size",
     [](Builder& b, int ch) {
       b.wait(1, ch, b.output(1));
       b.copy({b.output(0)}, b.slot(1, ch));
       b.credit(1, ch, b.output(1));
     },
     "elements of a message of rank 1"},
    {"reads_past_the_end",
     [](Builder& b, int ch) {
       b.wait(1, ch, b.output(1));
       b.copy({b.output(0)}, b.output(1));
       b.credit(1, ch, b.output(1));
     },
     "rank 0 reaches past the end of its output at step"},
};

class Unproved : public ::testing::TestWithParam<Row> {};

TEST_P(Unproved, EndsTheCall) {
  const Row& row = GetParam();
  register_algorithm(algorithm(row.name, row.take));
  // Rank 0's block is the longest: of five chunks, rank 1's of two.
  constexpr std::size_t kChunk = 1024;
  std::vector<std::size_t> counts(kRanks, kChunk);
  counts[0] = 5 * kChunk;
  counts[1] = kChunk + 1;
  const std::string name = std::string(row.name) + "(chunk=4K)";
  const auto errors = try_ranks(
      kRanks,
      [&](Communicator& comm) {
        std::vector<int> input(counts[static_cast<std::size_t>(comm.rank())]);
        std::vector<int> output(10 * kChunk + 1);
        Call call;
        call.collective = Collective::kAllgather;
        call.dtype = DType::kI32;
        call.algorithm = name;
        call.input = input.data();
        call.output = output.data();
        call.count = input.size();
        call.output_counts = counts;
        comm.run(call);
      },
      std::chrono::seconds(20));
  ASSERT_TRUE(errors[0]);
  try {
    std::rethrow_exception(errors[0]);
  } catch (const InvalidPlan& error) {
    EXPECT_NE(std::string(error.what()).find(row.says), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(All, Unproved, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::testing

// A rank that reads in a peer's buffer, and the peer that gives up meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "conformance/giving_up.h"
#include "weft/builder.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

// The root reads the others' inputs where they lie, and tells each when it has.
void write_reader(Builder& b) {
  const int root = b.param("root", 0), ch = b.channel(1);
  if (b.rank() != root) {
    b.once([&] {
      b.signal({root}, ch);
      b.wait(root, ch);
      b.credit(root, ch);
    });
    return;
  }
  b.chunks([&] { b.copy({b.output(root)}, b.input(0)); });
  for (int peer = 0; peer < b.ranks(); ++peer) {
    if (peer == root) continue;
    b.once([&] {
      b.wait(peer, ch);
      b.credit(peer, ch);
    });
    b.chunks([&] { b.copy({b.output(peer)}, b.input_of(peer, 0)); });
    b.once([&] { b.signal({peer}, ch); });
  }
}

constexpr std::size_t kBytes = 32 << 20;  // some milliseconds of reading

// Rank 1 aborts `delay` after it has let rank 0 read, and has its buffer back.
void abort_during_a_read(Communicator& comm, Delay delay) {
  const auto memory = symmetric_alloc(*comm.fabric(), kBytes);
  const std::span mine(static_cast<std::byte*>(memory.get()), kBytes);
  std::ranges::fill(mine, std::byte{1});
  std::vector<std::byte> output(comm.rank() == 0 ? 2 * kBytes : 0);
  Call call{Collective::kGather, mine.data(), output.data(), kBytes, DType::kU8};
  call.algorithm = "gather/reader";
  if (ends_well_although_one_aborts(comm, call, mine, delay)) {
    EXPECT_EQ(std::ranges::count(output, std::byte{9}), 0) << "after " << delay.count() << " us";
  }
}

TEST(ReadsInPlace, OfAPeerThatAbortsAreNoResult) {
  if (kFindsRaces)
    GTEST_SKIP() << "the owner's stores and the reader's loads are a race, as wanted";
  register_algorithm({"gather/reader", Collective::kGather, "", write_reader});
  for (int delay : {0, 300, 600, 1000, 1500, 2000, 3000, 4000, 6000})
    run_ranks_that_abort(2, [&](Communicator& comm) { abort_during_a_read(comm, Delay(delay)); });
}

}  // namespace
}  // namespace weft::testing

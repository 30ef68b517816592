// A rank that reads in a peer's buffer, and the peer that gives up meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "support/ranks.h"
#include "weft/builder.h"
#include "weft/error.h"
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
void abort_during_a_read(Communicator& comm, std::chrono::microseconds delay) {
  const auto input = symmetric_alloc(*comm.fabric(), kBytes);
  auto* const mine = static_cast<std::byte*>(input.get());
  std::fill_n(mine, kBytes, std::byte{1});
  std::vector<std::byte> output(comm.rank() == 0 ? 2 * kBytes : 0);
  Call call{Collective::kGather, mine, output.data(), kBytes, DType::kU8};
  call.algorithm = "gather/reader";
  comm.barrier();
  if (comm.rank() == 1) {
    const Request request = comm.submit(call);
    std::this_thread::sleep_for(delay);
    comm.abort("enough");
    std::fill_n(mine, kBytes, std::byte{9});
    return;
  }
  try {
    comm.run(call);
  } catch (const Aborted&) {
    return;
  }
  EXPECT_EQ(std::ranges::count(output, std::byte{9}), 0) << "after " << delay.count() << " us";
}

TEST(ReadsInPlace, OfAPeerThatAbortsAreNoResult) {
  if (kFindsRaces)
    GTEST_SKIP() << "the owner's stores and the reader's loads are a race, as wanted";
  register_algorithm({"gather/reader", Collective::kGather, "", write_reader});
  for (int delay : {0, 300, 600, 1000, 1500, 2000, 3000, 4000, 6000})
    for (const std::exception_ptr& error : try_ranks(2, [&](Communicator& comm) {
           abort_during_a_read(comm, std::chrono::microseconds(delay));
         })) {
      try {
        if (error) std::rethrow_exception(error);
      } catch (const Aborted&) {  // by the destructor's farewell
      }
    }
}

}  // namespace
}  // namespace weft::testing

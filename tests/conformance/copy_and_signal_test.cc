// A copy into a slot whose one reader is signalled next: a put, unless the slot holds wider
// elements than the caller.
#include <gtest/gtest.h>

#include "support/ranks.h"
#include "support/values.h"
#include "weft/builder.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

// Everyone tells everyone, in slots of this width, and adds up.
Algorithm algorithm(const std::string& name, Width width) {
  Algorithm algorithm;
  algorithm.name = "allreduce/" + name;
  algorithm.collective = Collective::kAllreduce;
  algorithm.write = [width](Builder& b) {
    const int ch = b.channel(2, width), me = b.rank();
    std::vector<int> peers;
    for (int rank = 0; rank < b.ranks(); ++rank)
      if (rank != me) peers.push_back(rank);
    b.chunks([&] {
      if (!peers.empty()) {
        b.copy({b.slot(ch)}, b.input());
        b.signal(peers, ch, b.input());
      }
      std::vector<Operand> terms;
      for (int rank = 0; rank < b.ranks(); ++rank) {
        if (rank != me) b.wait(rank, ch, b.input());
        terms.push_back(rank == me ? b.input() : b.slot(rank, ch));
      }
      b.reduce({b.output()}, terms, Builder::kLast);
      for (int peer : peers) b.credit(peer, ch, b.input());
    });
  };
  return algorithm;
}

// In place, so that the source is overwritten while slow peers have not read it.
void expect_sums(Communicator& comm, const std::string& name, DType dtype, std::size_t count) {
  for (int turn = 0; turn < 8; ++turn) {
    Array x(dtype, count);
    for (std::size_t i = 0; i < count; ++i) x.set(i, comm.rank() + static_cast<int>(i % 13) + turn);
    Call call{Collective::kAllreduce, x.data(), x.data(), count, dtype};
    call.algorithm = name;
    comm.run(call);
    const int ranks = comm.size();
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(x.get(i), ranks * (ranks - 1) / 2 + ranks * (static_cast<int>(i % 13) + turn))
          << name << " of " << count << " " << name_of(dtype) << " on " << ranks;
  }
}

TEST(CopyAndSignal, OfPlainAndWideSlots) {
  for (const auto& [name, width] :
       {std::pair{"plain_slots", Width::kPlain}, {"wide_slots", Width::kWide}}) {
    register_algorithm(algorithm(name, width));
    for (int ranks : {1, 2, 3})
      run_ranks(ranks, [&](Communicator& comm) {
        for (DType dtype : {DType::kF32, DType::kBF16})
          for (std::size_t count : {0, 1, 300, 5001, 70'001}) expect_sums(comm, name, dtype, count);
      });
  }
}

}  // namespace
}  // namespace weft::testing

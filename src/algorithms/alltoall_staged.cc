// Staged all-to-all: everyone sends to everyone at once, each block through a slot.
//
// Four ranks; rank 1 copies its blocks for 2, 3 and 0 into slots and signals them, copies its own,
// and a trip later copies what 0, 3 and 2 have sent into its output. A chunk of every block has
// been read before the same chunk of any is written, so the output may be the input. Blocks may
// have any sizes: each pair uses its own block's size.
//
// Steps 1, bytes sent (P-1)n, of n a block.
//
// Source: alltoall/direct, with the copy that MPI_IN_PLACE asks for (MPI 4.1, 6.8) made chunk by
// chunk on the way.
#include <algorithm>

#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_alltoall_staged(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const int ch = b.channel(3 * std::max(1, all.size() - 1));
  b.in_place();
  b.chunks([&] {
    for (int rank : others(all)) {
      b.copy({b.slot(ch)}, b.input(rank));
      b.signal({rank}, ch, b.input(rank));
    }
    b.copy({b.output(b.rank())}, b.input(b.rank()));
    b.lag(1);
    direct_allgather(b, all, ch, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm alltoall_staged() {
  return {
      "alltoall/staged", Collective::kAlltoall,
      "everyone to everyone through slots; 1 step, (P-1)n bytes; in place without a copy of the "
      "input (after Thakur 2005)",
      write_alltoall_staged};
}

}  // namespace weft

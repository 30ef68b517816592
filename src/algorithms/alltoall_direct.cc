// Direct all-to-all: everyone sends to everyone at once.
//
// Four ranks; rank 1 puts its blocks for 2, 3 and 0, copies its own, and a trip later copies what
// 0, 3 and 2 have put for it. Blocks may have any sizes: each pair uses its own block's size.
//
// Parameter ahead: how many trips later (params.h).
//
// Steps 1, bytes sent (P-1)n, of n a block.
//
// Source: the "spread" algorithm of Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on
// all-to-all.
#include <algorithm>

#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_alltoall_direct(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const int ahead = b.param(kAhead, 1);
  const int ch = b.channel((ahead + 2) * std::max(1, all.size() - 1));
  b.chunks([&] {
    for (int rank : others(all)) b.put(b.input(rank), {rank}, ch);
    b.copy({b.output(b.rank())}, b.input(b.rank()));
    b.lag(ahead);
    direct_allgather(b, all, ch, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm alltoall_direct() {
  return {"alltoall/direct", Collective::kAlltoall,
          "everyone to everyone at once; 1 step, (P-1)n bytes; in a node (Thakur 2005)",
          write_alltoall_direct, refusal_of_ahead};
}

}  // namespace weft

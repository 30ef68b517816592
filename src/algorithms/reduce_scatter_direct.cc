// Direct reduce-scatter: everyone sends to each rank that rank's block.
//
// Four ranks; rank 1 puts x1[2] to 2, x1[3] to 3 and x1[0] to 0; a trip later it has x0[1], x2[1]
// and x3[1], and writes output = (x0[1] + x1[1]) + (x2[1] + x3[1]).
//
// Parameter ahead: how many trips later (params.h).
//
// Steps 1, bytes sent (P-1)n, of n a block. Added up as a tree over ranks.
//
// Source: direct (pairwise) exchange, Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on
// reduce-scatter.
#include <algorithm>

#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_reduce_scatter_direct(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const auto mine = [&](int rank) { return own(b.input(rank)); };
  const int ahead = b.param(kAhead, 1);
  const Wire wire{b.channel((ahead + 2) * std::max(1, all.size() - 1))};
  b.chunks([&] {
    int channel = send_contributions(b, all, wire, mine);
    b.lag(ahead);
    store(b, b.output(), collect(b, all, channel, mine));
  });
}

}  // namespace

Algorithm reduce_scatter_direct() {
  return {"reduce_scatter/direct",
          Collective::kReduceScatter,
          "each block straight to its owner; 1 step, (P-1)n bytes; in a node (Thakur 2005)",
          write_reduce_scatter_direct,
          refusal_of_ahead,
          kReproducible};
}

}  // namespace weft

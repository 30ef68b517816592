// Ring allgather: blocks travel to the right, one hop at a time.
//
// Four ranks, chunk by chunk: rank 0 sends its own block, then passes on those of 3 and 2,
// as they come from its left neighbour 3, and keeps that of 1.
//
// Steps P-1, bytes sent (P-1)n, of n a rank, to one neighbour only.
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on allgather.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allgather_ring(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const auto right = next_in(all);
  const int ch = b.channel(4);
  b.chunks([&] {
    b.copy({b.output(b.rank())}, b.input());
    if (!right.empty()) b.put(b.input(), right, ch);
    ring_allgather(b, all, ch, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm allgather_ring() {
  return {"allgather/ring", Collective::kAllgather,
          "around a ring; P-1 steps, (P-1)n bytes to one neighbour; large blocks (Thakur 2005)",
          write_allgather_ring};
}

}  // namespace weft

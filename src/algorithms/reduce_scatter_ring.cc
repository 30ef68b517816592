// Ring reduce-scatter: partial sums travel to the right and end at the block's owner.
//
// Four ranks, chunk by chunk: rank 0 sends x0[3]; then x0[2] + x3[2]; then x0[1] + (x3[1] + x2[1]);
// and last gets what its left neighbour has of block 0 and writes output = x0[0] + (...).
// Partial sums go from slot to slot, in float32 under f16 and bf16, and are rounded once.
//
// Steps P-1, bytes sent (P-1)n, of n a block, to one neighbour only.
//
// Source: Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
// Workstations", JPDC 69(2), 2009.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_reduce_scatter_ring(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const Wire wire{b.channel(2), all.size() > 2 ? b.channel(4, Width::kWide) : -1};
  b.chunks([&] {
    Sum sum = ring_reduce_scatter(b, all, wire, [&](int rank) { return own(b.input(rank)); });
    store(b, b.output(), sum);
  });
}

}  // namespace

Algorithm reduce_scatter_ring() {
  return {"reduce_scatter/ring", Collective::kReduceScatter,
          "around a ring; P-1 steps, (P-1)n bytes to one neighbour; large blocks (Patarasuk and "
          "Yuan 2009)",
          write_reduce_scatter_ring};
}

}  // namespace weft

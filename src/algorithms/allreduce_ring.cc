// Ring allreduce: a reduce-scatter around the ring, then an allgather around the ring.
//
// Four ranks, a block each; to the right, chunk by chunk:
//   hop 1   rank 0 sends x0[3], rank 1 x1[0], rank 2 x2[1], rank 3 x3[2];
//   hop 2   rank 0 sends x0[2] + x3[2], rank 1 x1[3] + x0[3], ...;
//   hop 3   rank 0 sends x0[1] + (x3[1] + x2[1]), ...; now rank 1 completes y[1];
//   hop 4-6 rank 1 sends y[1], then passes on y[0], then y[3]; the others alike.
// A chunk makes all six hops before the next chunk starts. So no partial sum has to be kept: it
// goes from one slot, plus the own input, into the next slot, in float32 under f16 and bf16.
//
// Steps 2(P-1), bytes sent 2n(P-1)/P, least possible, to one neighbour only.
//
// Source: Patarasuk and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
// Workstations", JPDC 69(2), 2009.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allreduce_ring(Builder& b) {
  const Group all(b.rank(), b.ranks());
  b.blocks(b.ranks(), b.ranks());
  const Wire wire{b.channel(2), all.size() > 2 ? b.channel(4, Width::kWide) : -1};
  const int result = b.channel(4);
  b.chunks([&] {
    Sum sum = ring_reduce_scatter(b, all, wire, [&](int rank) { return own(b.input(rank)); });
    store(b, b.output(b.rank()), sum, next_in(all), result);
    ring_allgather(b, all, result, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm allreduce_ring() {
  return {"allreduce/ring",
          Collective::kAllreduce,
          "ring reduce-scatter and allgather; 2(P-1) steps, 2n(P-1)/P bytes to one neighbour; "
          "large messages (Patarasuk and Yuan 2009)",
          write_allreduce_ring,
          {},
          kConsistent,
          {"lr"}};
}

}  // namespace weft

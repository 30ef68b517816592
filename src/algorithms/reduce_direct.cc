// Direct reduce: everyone sends to the root, which adds up as a tree over ranks.
//
// Four ranks, root 0: 1, 2 and 3 put their inputs; rank 0 waits for the three and writes
// output = (x0 + x1) + (x2 + x3).
//
// Steps 1, bytes sent n, all read by the root: (P-1)n.
//
// Source: flat tree, Graham and Shipman, "MPI Support for Multi-core Architectures: Optimized
// Shared Memory Collectives", EuroPVM/MPI 2008.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_reduce_direct(Builder& b) {
  const int root = b.param("root", 0);
  const int ch = b.channel(4);
  b.chunks([&] {
    if (b.rank() != root) return b.put(b.input(), {root}, ch);
    Sum sum{b.input(), {}, {}, Builder::kTree};
    for (int rank = 0; rank < b.ranks(); ++rank) {
      if (rank == root)
        sum.terms.push_back(b.input());
      else
        receive(b, sum, rank, ch);
    }
    store(b, b.output(), sum);
  });
}

}  // namespace

Algorithm reduce_direct() {
  return {"reduce/direct",
          Collective::kReduce,
          "all to the root, which adds as a tree; 1 step, n bytes; few ranks (Graham 2008)",
          write_reduce_direct,
          {},
          kReproducible};
}

}  // namespace weft

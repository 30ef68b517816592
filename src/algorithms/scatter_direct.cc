// Direct scatter: the root sends everyone its block.
//
// Four ranks, root 0: rank 0 puts blocks 1, 2, 3 to their owners and copies block 0.
//
// Steps 1, bytes sent (P-1)n by the root, of n a block. Blocks may be of any sizes.
//
// Source: linear scatter, Träff, "Hierarchical Gather/Scatter Algorithms with Graceful
// Degradation", IPDPS 2004, the flat case.
#include <algorithm>

#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_scatter_direct(Builder& b) {
  const int root = b.param("root", 0);
  const int ch = b.channel(3 * std::max(1, b.ranks() - 1));
  const Group all(b.rank(), b.ranks());
  b.chunks([&] {
    if (b.rank() == root) {
      for (int rank : others(all)) b.put(b.input(rank), {rank}, ch);
      return b.copy({b.output()}, b.input(root));
    }
    b.wait(root, ch, b.output());
    b.copy({b.output()}, b.slot(root, ch));
    b.credit(root, ch, b.output());
  });
}

}  // namespace

Algorithm scatter_direct() {
  return {"scatter/direct", Collective::kScatter,
          "the root to all; 1 step, (P-1)n bytes at the root (linear scatter)",
          write_scatter_direct};
}

}  // namespace weft

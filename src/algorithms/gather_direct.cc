// Direct gather: everyone sends to the root.
//
// Four ranks, root 0: 1, 2 and 3 put their inputs; rank 0 copies them and its own into its output.
// (A binomial tree would send inner ranks blocks of others, for which they have no memory.)
//
// Steps 1, bytes sent n, of n a rank, all read by the root. Blocks may be of any sizes.
//
// Source: linear gather, Träff, "Hierarchical Gather/Scatter Algorithms with Graceful
// Degradation", IPDPS 2004, the flat case.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_gather_direct(Builder& b) {
  const int root = b.param("root", 0);
  const int ch = b.channel(4);
  const Group all(b.rank(), b.ranks());
  b.chunks([&] {
    if (b.rank() != root) return b.put(b.input(), {root}, ch);
    b.copy({b.output(root)}, b.input());
    direct_allgather(b, all, ch, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm gather_direct() {
  return {"gather/direct", Collective::kGather, "all to the root; 1 step, n bytes (linear gather)",
          write_gather_direct};
}

}  // namespace weft

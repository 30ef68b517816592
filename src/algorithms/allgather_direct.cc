// Direct allgather: everyone sends its block to all others at once.
//
// Four ranks, any one of them: puts its input once for all three others; a trip later copies
// their three blocks into its output.
//
// Parameter ahead: how many trips later (params.h).
//
// Steps 1; in shared memory bytes written n, read (P-1)n, of n a rank.
//
// Source: "linear" or spread allgather, Graham and Shipman, "MPI Support for Multi-core
// Architectures: Optimized Shared Memory Collectives", EuroPVM/MPI 2008.
#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allgather_direct(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const auto peers = others(all);
  const int ahead = b.param(kAhead, 1);
  const int ch = b.channel(ahead + 3);
  b.chunks([&] {
    b.copy({b.output(b.rank())}, b.input());
    if (!peers.empty()) b.put(b.input(), peers, ch);
    b.lag(ahead);
    direct_allgather(b, all, ch, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm allgather_direct() {
  return {"allgather/direct", Collective::kAllgather,
          "everyone to all others; 1 step, (P-1)n bytes read; in a node (Graham 2008)",
          write_allgather_direct, refusal_of_ahead};
}

}  // namespace weft

// One-shot broadcast: the root sends every chunk to all others at once.
//
// Four ranks, root 0: rank 0 puts its chunk once; 1, 2 and 3 read it out of the same slot, or
// out of the root's own buffer where that is symmetric.
//
// Steps 1. In shared memory bytes written n, read n a rank; over a network the root sends (P-1)n.
//
// Parameter slots: how many chunks the root is ahead of the last reader. With few they stay in the
// second cache; many help where ranks share cores, and a reader has to wait for one.
//
// Source: flat tree with one buffer per chunk, Graham and Shipman, "MPI Support for Multi-core
// Architectures: Optimized Shared Memory Collectives", EuroPVM/MPI 2008.
#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_broadcast_one_shot(Builder& b) {
  const int root = b.param("root", 0);
  const int ch = b.channel(b.param("slots", 16));
  const Group all(b.rank(), b.ranks());
  b.chunks([&] {
    broadcast_down(b, b.rank() == root ? TreePlace{-1, others(all)} : TreePlace{root, {}}, ch);
  });
}

std::string refuses_broadcast_one_shot(int, const Params& params) {
  return refusal_below(params, "slots", 1);
}

}  // namespace

Algorithm broadcast_one_shot() {
  return {"broadcast/one_shot", Collective::kBroadcast,
          "the root writes once, all read; parameter slots; 1 step; in a node (Graham 2008)",
          write_broadcast_one_shot, refuses_broadcast_one_shot};
}

}  // namespace weft

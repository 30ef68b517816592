// Pipelined chain: each rank passes every chunk on to the next.
//
// Four ranks, root 0: 0 -> 1 -> 2 -> 3. While rank 2 passes chunk 0 on, rank 1 passes on chunk 1
// and rank 0 sends chunk 2. From root 2 the chain is 2 -> 3 -> 0 -> 1.
//
// Steps P - 2 + chunks, bytes sent n a rank, to one neighbour only: the best of all for long
// messages over a network that is slow against its memory.
//
// Source: Patarasuk, Yuan, Faraj, "Techniques for Pipelined Broadcast on Ethernet Switched
// Clusters", JPDC 68(6), 2008.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write(Builder& b) {
  const int root = b.param("root", 0);
  const int ch = b.channel(4);
  const Group all(b.rank(), b.ranks());
  const int from_root = all.wrap(b.rank() - root);
  TreePlace place;
  if (from_root > 0) place.parent = all.at(b.rank() - 1);
  if (from_root < b.ranks() - 1) place.children = {all.at(b.rank() + 1)};
  b.chunks([&] { broadcast_down(b, place, ch); });
}

}  // namespace

Algorithm broadcast_chain() {
  return {"broadcast/chain", Collective::kBroadcast,
          "pipelined chain; P-2+chunks steps, n bytes; very large messages (Patarasuk 2008)",
          write};
}

}  // namespace weft

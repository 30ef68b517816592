// Reversed pipelined chain: in each node the chain goes to the left neighbour instead of the right.
//
// Four ranks, node = 4, root 0: 0 -> 3 -> 2 -> 1. With node = 2 nothing changes: 0 -> 1 -> 2 -> 3.
// A node keeps its first rank in front and has the others in falling order; the last one may be
// smaller. For another root, the ring is cut before the root: with node = 4 and root 2 the chain is
// 2 -> 1 -> 0 -> 3.
//
// This is the source's topology-aware chain to the letter. In a full-duplex tree it uses the same
// links as broadcast/chain, in the other direction; broadcast/chain_walk is what is built for them.
// Steps P - 2 + chunks, bytes sent n a rank. Parameter node: ranks a node, default all.
//
// Source: Xin, Xie, Li, "Large Message Broadcast Design for Distributed Machine Learning", 2020,
// on TA-PC.
#include <algorithm>

#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

std::vector<int> reversed_in_nodes(int ranks, int node) {
  std::vector<int> order;
  for (int first = 0; first < ranks; first += node) {
    order.push_back(first);
    for (int rank = std::min(first + node, ranks) - 1; rank > first; --rank) order.push_back(rank);
  }
  return order;
}

void write_broadcast_chain_reversed(Builder& b) {
  const int root = b.param("root", 0), node = b.param("node", b.ranks());
  const int ch = b.channel(4);
  const Group ring(b.rank(), reversed_in_nodes(b.ranks(), node));
  b.chunks([&] { broadcast_down(b, chain_place(ring, root), ch); });
}

std::string refuses_broadcast_chain_reversed(int, const Params& params) {
  return refusal_below(params, "node", 1);
}

}  // namespace

Algorithm broadcast_chain_reversed() {
  return {"broadcast/chain_reversed", Collective::kBroadcast,
          "pipelined chain, backwards in each node, parameter node; P-2+chunks steps, n bytes; for "
          "comparison (Xin 2020)",
          write_broadcast_chain_reversed, refuses_broadcast_chain_reversed};
}

}  // namespace weft

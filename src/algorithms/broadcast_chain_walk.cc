// Topology-aware pipelined chain: the chain of broadcast/chain along a walk of the topology.
//
// Four ranks, two nodes of two: ranks 0 and 2 lie in one, 1 and 3 in the other, so that the tree
// is [4,5,4,5,6,6,-1]: 4 and 5 are the nodes, 6 the switch. The walk passes 0, 2, 1, 3, and so
// does the chain from root 0; from root 1 it is 1 -> 3 -> 0 -> 2. Either uses each direction of a
// link once at most, where 0 -> 1 -> 2 -> 3 crosses the switch three times.
//
// Steps P - 2 + chunks, bytes sent n a rank. The busiest link of a full-duplex topology carries n
// bytes a direction, which no broadcast undercuts.
// Parameter tree: the parent of each vertex, -1 for the top, the ranks first; [] for ranks that are
// all alike, whose walk is their order.
//
// Source: Xin, Xie, Li, "Large Message Broadcast Design for Distributed Machine Learning", 2020,
// asks for a chain that suits the PCIe tree (ta_pc); the walk is ours.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_broadcast_chain_walk(Builder& b) {
  const int root = b.param("root", 0);
  const Tree tree = b.param("tree", Tree{}).list();
  const int ch = b.channel(4);
  const Group ring =
      tree.empty() ? Group(b.rank(), b.ranks()) : Group(b.rank(), walk(tree, b.ranks()));
  b.chunks([&] { broadcast_down(b, chain_place(ring, root), ch); });
}

std::string refuses_broadcast_chain_walk(int ranks, const Params& params) {
  const Param alike(Tree{});
  const Tree& tree = param_of(params, "tree", alike).list();
  return tree.empty() ? "" : fault_of_tree(tree, ranks);
}

}  // namespace

Algorithm broadcast_chain_walk() {
  return {"broadcast/chain_walk",
          Collective::kBroadcast,
          "pipelined chain along a walk of the topology, parameter tree; P-2+chunks steps, n bytes "
          "on each link at most; very large messages (Xin 2020)",
          write_broadcast_chain_walk,
          refuses_broadcast_chain_walk,
          {},
          {"ta_pc"}};
}

}  // namespace weft

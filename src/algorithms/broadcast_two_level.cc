// Two-level broadcast: a tree over one leader a node, and a tree in each node below its leader.
//
// Four ranks, node = 2, root 1: nodes are {0, 1} and {2, 3}, their leaders 1, because it is the
// root, and 2. Chunk by chunk: 1 -> 2 and 0; then 2 -> 3, while the next chunk is sent to 2. With
// overlap = 0 rank 2 has the whole message before it sends to 3, and so has 1 before it sends to 0.
//
// Parameters
//   node      ranks a node, consecutive; the last node has what is left
//   outer     across nodes: knomial or chain
//   inner     in each node: chain or knomial
//   radix     of either k-nomial tree
//   overlap   1: levels overlap chunk by chunk; 0: one level after the other
// Across nodes n bytes arrive at each node, once. Steps are those of the two trees. With
// overlap = 0 this is MPI across nodes and NCCL within, as the source's baseline does it.
//
// Source: Awan, Hamidouche, Venkatesh, Panda, "Efficient Large Message Broadcast using NCCL and
// CUDA-Aware MPI for Deep Learning", EuroMPI 2016; compared with in Xin, Xie, Li, "Large Message
// Broadcast Design for Distributed Machine Learning", 2020.
#include <algorithm>

#include "algorithms/params.h"
#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

const std::vector<std::string> kOuter = {"knomial", "chain"}, kInner = {"chain", "knomial"};

// In a tree over the group whose root is its first place.
TreePlace place_in(const Group& group, const std::string& kind, int radix) {
  if (kind == "chain") return chain_place(group, group.at(0));
  TreePlace place = knomial_place(group.me(), group.size(), 0, radix);
  if (place.parent >= 0) place.parent = group.at(place.parent);
  for (int& child : place.children) child = group.at(child);
  return place;
}

struct Nodes {
  int ranks, size, root;

  int count() const { return (ranks + size - 1) / size; }
  int of(int rank) const { return rank / size; }
  int leader(int node) const { return node == of(root) ? root : node * size; }
  // The leaders, from the root on.
  std::vector<int> leaders() const {
    std::vector<int> ranks;
    for (int i = 0; i < count(); ++i) ranks.push_back(leader((of(root) + i) % count()));
    return ranks;
  }
  // The ranks of a node, from its leader on and around.
  std::vector<int> members(int node) const {
    const int first = node * size, last = std::min(first + size, ranks);
    std::vector<int> members;
    for (int rank = leader(node); rank < last; ++rank) members.push_back(rank);
    for (int rank = first; rank < leader(node); ++rank) members.push_back(rank);
    return members;
  }
};

void write_leader(Builder& b, TreePlace outer, const TreePlace& inner, int ch, bool overlap) {
  if (overlap)
    outer.children.insert(outer.children.end(), inner.children.begin(), inner.children.end());
  b.chunks([&] { broadcast_down(b, outer, ch); });
  if (!overlap && !inner.children.empty()) b.chunks([&] { b.put(b.output(), inner.children, ch); });
}

void write(Builder& b) {
  const int root = b.param("root", 0);
  const Nodes nodes{b.ranks(), b.param("node", node_size_for(b.ranks())), root};
  const std::string outer = b.param("outer", kOuter[0]).word();
  const std::string inner = b.param("inner", kInner[0]).word();
  const int radix = b.param("radix", 2), overlap = b.param("overlap", 1);
  const int ch = b.channel(4), node = nodes.of(b.rank());
  const TreePlace place = place_in(Group(b.rank(), nodes.members(node)), inner, radix);
  if (nodes.leader(node) != b.rank()) return b.chunks([&] { broadcast_down(b, place, ch); });
  const Group leaders(b.rank(), nodes.leaders());
  write_leader(b, place_in(leaders, outer, radix), place, ch, overlap != 0);
}

std::string refuses(int, const Params& params) {
  for (const std::string& why :
       {refusal_below(params, "node", 1), refusal_below(params, "radix", 2),
        refusal_unless(params, "outer", kOuter), refusal_unless(params, "inner", kInner)})
    if (!why.empty()) return why;
  return {};
}

}  // namespace

Algorithm broadcast_two_level() {
  return {"broadcast/two_level", Collective::kBroadcast,
          "a tree across nodes, a tree in each, overlapped; parameters node, outer, inner, radix, "
          "overlap; clusters (Awan 2016)",
          write, refuses};
}

}  // namespace weft

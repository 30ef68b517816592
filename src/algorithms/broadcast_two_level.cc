// Two-level broadcast: a tree over one leader a node, and a tree in each node below its leader.
//
// Four ranks, node = 2, root 1: nodes are {0, 1} and {2, 3}, their leaders 1, because it is the
// root, and 2. Chunk by chunk: 1 -> 2 and 0; then 2 -> 3, while the next chunk is sent to 2. With
// overlap = 0 rank 2 has the whole message before it sends to 3, and so has 1 before it sends to 0.
//
// Parameters
//   node, place   which ranks share a node, as in nodes.h: any number a node, in any order
//   outer         across nodes: knomial or chain
//   inner         in each node: chain, knomial, or direct (the leader to all)
//   radix         of either k-nomial tree
//   overlap       1: levels overlap chunk by chunk; 0: one level after the other
// Across nodes n bytes arrive at each node, once. Steps are those of the two trees. With
// overlap = 0 this is MPI across nodes and NCCL within, as the source's baseline does it.
//
// Source: Awan, Hamidouche, Venkatesh, Panda, "Efficient Large Message Broadcast using NCCL and
// CUDA-Aware MPI for Deep Learning", EuroMPI 2016; compared with in Xin, Xie, Li, "Large Message
// Broadcast Design for Distributed Machine Learning", 2020.
#include <algorithm>

#include "algorithms/nodes.h"
#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// The first is the default.
const std::vector<std::string> kInner = {"chain", "knomial", "direct"};

// In a tree over the group whose root is its first place.
TreePlace place_in(const Group& group, const std::string& kind, int radix) {
  TreePlace place = kind == "direct" ? tree_place("knomial", group.me(), group.size(), group.size())
                                     : tree_place(kind, group.me(), group.size(), radix);
  if (place.parent >= 0) place.parent = group.at(place.parent);
  for (int& child : place.children) child = group.at(child);
  return place;
}

int leader_of(const Nodes& nodes, int node, int root) {
  return node == nodes.of(root) ? root : nodes.members(node).front();
}

// The leaders, from the root on.
std::vector<int> leaders_of(const Nodes& nodes, int root) {
  std::vector<int> leaders;
  for (int i = 0; i < nodes.count(); ++i)
    leaders.push_back(leader_of(nodes, (nodes.of(root) + i) % nodes.count(), root));
  return leaders;
}

// The ranks of a node, from its leader on and around.
std::vector<int> members_of(const Nodes& nodes, int node, int root) {
  std::vector<int> members = nodes.members(node);
  std::rotate(members.begin(),
              std::find(members.begin(), members.end(), leader_of(nodes, node, root)),
              members.end());
  return members;
}

void write_leader(Builder& b, TreePlace outer, const TreePlace& inner, int ch, bool overlap) {
  if (overlap)
    outer.children.insert(outer.children.end(), inner.children.begin(), inner.children.end());
  b.chunks([&] { broadcast_down(b, outer, ch); });
  if (!overlap && !inner.children.empty()) b.chunks([&] { b.put(b.output(), inner.children, ch); });
}

void write_broadcast_two_level(Builder& b) {
  const int root = b.param("root", 0);
  const Nodes nodes = nodes_of(b);
  const std::string outer = b.param("outer", tree_kinds()[0]).word();
  const std::string inner = b.param("inner", kInner[0]).word();
  const int radix = b.param("radix", 2), overlap = b.param("overlap", 1);
  const int ch = b.channel(4), node = nodes.of(b.rank());
  const TreePlace place = place_in(Group(b.rank(), members_of(nodes, node, root)), inner, radix);
  if (leader_of(nodes, node, root) != b.rank())
    return b.chunks([&] { broadcast_down(b, place, ch); });
  const Group leaders(b.rank(), leaders_of(nodes, root));
  write_leader(b, place_in(leaders, outer, radix), place, ch, overlap != 0);
}

std::string refuses_broadcast_two_level(int ranks, const Params& params) {
  for (const std::string& why :
       {refusal_of_nodes(ranks, params), refusal_below(params, "radix", 2),
        refusal_unless(params, "outer", tree_kinds()), refusal_unless(params, "inner", kInner)})
    if (!why.empty()) return why;
  return {};
}

}  // namespace

Algorithm broadcast_two_level() {
  return {"broadcast/two_level", Collective::kBroadcast,
          "a tree across nodes, a tree in each, overlapped; parameters node, place, outer, inner, "
          "radix, overlap; clusters (Awan 2016)",
          write_broadcast_two_level, refuses_broadcast_two_level};
}

}  // namespace weft

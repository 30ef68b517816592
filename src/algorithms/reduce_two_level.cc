// Two-level reduce: nodes add up, and their sums go up a tree over the nodes to the root.
//
// Four ranks, node = 2, root 0: nodes {0, 1} and {2, 3}; two leaders, a share each. Chunk by chunk:
//   rank 2   takes x3[0] from 3, sends x2[0] + x3[0] to rank 0;
//   rank 3   takes x2[1] from 2, sends x2[1] + x3[1] to rank 0;
//   rank 0   y = x0 + x1 + what has come across, a share at a time.
// In the root's node the root leads all shares. Each node waits for the nodes below it in the tree,
// adds their sums to its own, and sends one sum on.
//
// Parameters
//   node, place   which ranks share a node, as in nodes.h: any number a node, in any order
//   leaders       shares that the message is cut into, each added up and sent by another rank of a
//                 node; default: the ranks of the largest node
//   outer         the tree across nodes: knomial or chain
//   radix         of the k-nomial tree
//
// With m ranks a node and k nodes: steps 1 in the node and those of the tree; bytes sent n/leaders
// across, n in the node; a node's links carry n up, of f16 and bf16 twice that, since sums travel
// in float32 and are rounded once.
//
// Source: Graham and Shipman, EuroPVM/MPI 2008, in nodes; across the trees of Thakur, Rabenseifner,
// Gropp, IJHPCA 19(1), 2005, for each leader as in Bayatpour et al., SC 2017.
#include <algorithm>

#include "algorithms/levels.h"
#include "algorithms/params.h"
#include "algorithms/registry.h"
#include "algorithms/trees.h"

namespace weft {
namespace {

// The nodes as counted from the root's, and who leads what in them.
struct Shape {
  Nodes nodes;
  int root, leaders;

  int node(int number) const { return (nodes.of(root) + number) % nodes.count(); }
  int number_of(int rank) const {
    return (nodes.of(rank) - nodes.of(root) + nodes.count()) % nodes.count();
  }
  // Ranks of a node that lead at the same time.
  int abreast(int number) const {
    return number == 0 ? 1 : std::min(leaders, nodes.size(node(number)));
  }
  int leader(int number, int share) const {
    if (number == 0) return root;
    return nodes.members(node(number))[static_cast<std::size_t>(share % abreast(number))];
  }
  // Leaders first.
  Group around(int rank) const {
    std::vector<int> members = nodes.members(nodes.of(rank));
    if (number_of(rank) == 0)
      std::swap(members[0], *std::find(members.begin(), members.end(), root));
    return Group(rank, members);
  }
  std::vector<Turn> turns(int number) const {
    std::vector<Turn> turns;
    for (int share = 0; share < leaders; ++share) {
      if (share % abreast(number) == 0) turns.emplace_back();
      turns.back().push_back(share);
    }
    return turns;
  }
  // The most shares that one rank leads; the root sends none.
  int most_led() const {
    int least = leaders;
    for (int number = 1; number < nodes.count(); ++number) least = std::min(least, abreast(number));
    return (leaders + least - 1) / least;
  }
};

void write_reduce_two_level(Builder& b) {
  const Nodes nodes = nodes_of(b);
  const Shape shape{nodes, b.param("root", 0), b.param("leaders", nodes.largest())};
  const std::string outer = b.param("outer", tree_kinds()[0]).word();
  const int radix = b.param("radix", 2), mates = nodes.largest() - 1,
            number = shape.number_of(b.rank());
  b.blocks(shape.leaders, shape.leaders);
  const int inner = mates > 0 ? b.channel(3 * mates) : -1, slots = 4 * shape.most_led();
  const Wire wire{nodes.least() == 1 ? b.channel(slots) : -1, b.channel(slots, Width::kWide)};
  const auto tree = [&](int at) { return tree_place(outer, at, nodes.count(), radix); };
  // A rank by itself, below which there is no other node, sends its input as it is.
  const auto bare = [&](int at) {
    return nodes.size(shape.node(at)) == 1 && tree(at).children.empty();
  };
  const TreePlace place = tree(number);
  b.chunks([&] {
    const auto input = [&](int share) { return b.input(share); };
    sum_in_turns(
        b, shape.around(b.rank()), shape.turns(number), inner, input, [&](int share, Sum& sum) {
          for (int child : place.children)
            receive(b, sum, shape.leader(child, share), bare(child) ? wire.plain : wire.sums);
          if (number == 0) return store(b, b.output(share), sum);
          send(b, sum, shape.leader(place.parent, share), wire);
          release(b, sum);
        });
  });
}

std::string refuses_reduce_two_level(int ranks, const Params& params) {
  for (const std::string& why :
       {refusal_of_nodes(ranks, params), refusal_below(params, "leaders", 1),
        refusal_below(params, "radix", 2), refusal_unless(params, "outer", tree_kinds())})
    if (!why.empty()) return why;
  return {};
}

}  // namespace

Algorithm reduce_two_level() {
  return {"reduce/two_level", Collective::kReduce,
          "nodes add up, their sums go up a tree; parameters node, place, leaders, outer, radix; "
          "clusters (Graham 2008, Thakur 2005)",
          write_reduce_two_level, refuses_reduce_two_level};
}

}  // namespace weft

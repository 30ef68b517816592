// Places in the trees that broadcasts go down, and the order in which a walk of the topology
// passes the ranks.
#pragma once

#include <string>
#include <vector>

#include "weft/builder.h"

namespace weft {

// A rank's place in a tree. The root has no parent (-1).
struct TreePlace {
  int parent = -1;
  std::vector<int> children;
};

// In the chain that starts at `root` and follows the group around.
TreePlace chain_place(const Group& ring, int root);
// In the k-nomial tree over the ranks counted from `root`; the largest subtree first.
TreePlace knomial_place(int rank, int ranks, int root, int radix);
// The trees that plans of several levels go up and down: knomial, chain.
const std::vector<std::string>& tree_kinds();
// A place in one of them, whose root is place 0.
TreePlace tree_place(const std::string& kind, int place, int size, int radix);

// A topology as a tree: the parent of each vertex, -1 for the top. The first vertices are the
// ranks; the rest is what connects them (switches, sockets, nodes, racks), in any order.
using Tree = std::vector<int>;

// Why `tree` is no tree over `ranks` ranks; empty: it is.
std::string fault_of_tree(const Tree& tree, int ranks);
// The ranks as a depth-first walk passes them, subtrees with small ranks first. The walk uses each
// link once down and once up. Messages along the walk, and from its end back to its beginning, use
// each direction of a link at most once. No order of the ranks has a less busy link.
// Requires that fault_of_tree finds none.
std::vector<int> walk(const Tree& tree, int ranks);

}  // namespace weft

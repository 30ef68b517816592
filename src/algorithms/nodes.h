// Which ranks share a node. Algorithms of two levels know nothing else of a cluster.
//
// Two parameters say it. `node` = m: m consecutive ranks a node, the last node has what is left.
// `place` = a list with the node of each rank, in any order and of any sizes; where it is given
// `node` is not asked for.
#pragma once

#include <string>
#include <vector>

#include "weft/builder.h"

namespace weft {

class Nodes {
 public:
  // The node of each rank. Any numbers: nodes count from 0 in the order of their first ranks.
  explicit Nodes(const std::vector<int>& place);
  // `size` consecutive ranks a node, the last has what is left.
  Nodes(int ranks, int size);

  int count() const { return static_cast<int>(members_.size()); }
  int ranks() const { return static_cast<int>(node_.size()); }
  int of(int rank) const { return node_[static_cast<std::size_t>(rank)]; }
  // In order of rank.
  const std::vector<int>& members(int node) const {
    return members_[static_cast<std::size_t>(node)];
  }
  int size(int node) const { return static_cast<int>(members(node).size()); }
  // The first of the nodes with the most ranks.
  int largest_node() const;
  int largest() const { return size(largest_node()); }  // its ranks
  int least() const;                                    // of the smallest
  // A rank's place among the members of its node.
  int local(int rank) const { return local_[static_cast<std::size_t>(rank)]; }
  // The node of `rank`.
  Group around(int rank) const { return Group(rank, members(of(rank))); }

 private:
  std::vector<int> node_, local_;
  std::vector<std::vector<int>> members_;
};

// From the plan's parameters, whose defaults are recorded.
Nodes nodes_of(Builder& b);
// The same before there is a plan. Requires that refusal_of_nodes finds nothing.
Nodes nodes_of(int ranks, const Params& params);
// Why these parameters will not do; empty: they will.
std::string refusal_of_nodes(int ranks, const Params& params);

}  // namespace weft

// Shares: who owns what part of a message in collectives of two levels, and who works for it
// elsewhere.
//
// A share is a range of blocks. Its owner makes its sum, and sends the result out; every other node
// has a deputy for it.
#pragma once

#include <vector>

#include "algorithms/nodes.h"
#include "algorithms/pattern.h"

namespace weft {

class Shares {
 public:
  // Block r is rank r's.
  static Shares block_each(const Nodes& nodes);
  // Every node owns the same amount, however many ranks it has, so that all links carry the same. A
  // node sends and receives across in proportion to what it owns. Ranks of smaller nodes own
  // several shares,
  // so that all shares are about equally long and all nodes done at the same time.
  static Shares equal_for_nodes(const Nodes& nodes);

  const Nodes& nodes() const { return nodes_; }
  int blocks() const { return blocks_; }  // of the whole message
  BlockRange range(int share) const { return at(share).range; }
  int owner(int share) const { return worker(at(share).node, share); }
  // The rank of a node that works for a share: its owner, or its deputy. If a node owns fewer
  // shares than another node has ranks, its deputies there are not those of the next node.
  int worker(int node, int share) const;
  // The shares that a node owns, and those that a rank owns; in order.
  const std::vector<int>& of_node(int node) const { return of_[static_cast<std::size_t>(node)]; }
  std::vector<int> of(int rank) const;
  int most_owned() const;  // by one rank

 private:
  struct Share {
    int node, number;  // the one that owns it, and which of its shares
    BlockRange range;
  };

  explicit Shares(const Nodes& nodes);
  void add(int node, BlockRange range);
  const Share& at(int share) const { return shares_[static_cast<std::size_t>(share)]; }

  Nodes nodes_;
  int blocks_ = 0;
  std::vector<Share> shares_;
  std::vector<std::vector<int>> of_;
};

}  // namespace weft

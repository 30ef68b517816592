#include "algorithms/shares.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// The most shares of one rank. With more, a trip would have more messages for one peer than may be
// under way.
constexpr int kMostShares = 3;

// Blocks a node, so that its ranks can own equally many. If that would cut the message into too
// many shares, there are as many as the largest node has ranks. They then differ by one.
int blocks_a_node(const Nodes& nodes) {
  constexpr int kMost = 4;  // for each rank of the largest node
  int all = 1;
  for (int node = 0; node < nodes.count(); ++node) {
    all = std::lcm(all, nodes.size(node));
    if (all > kMost * nodes.largest()) return nodes.largest();
  }
  return all;
}

}  // namespace

Shares::Shares(const Nodes& nodes) : nodes_(nodes), of_(static_cast<std::size_t>(nodes.count())) {}

void Shares::add(int node, BlockRange range) {
  std::vector<int>& of_node = of_[static_cast<std::size_t>(node)];
  const int number = static_cast<int>(of_node.size());
  of_node.push_back(static_cast<int>(shares_.size()));
  shares_.push_back({node, number, range});
  blocks_ += range.count;
}

Shares Shares::block_each(const Nodes& nodes) {
  Shares shares(nodes);
  for (int rank = 0; rank < nodes.ranks(); ++rank) shares.add(nodes.of(rank), {rank, 1});
  return shares;
}

Shares Shares::equal_for_nodes(const Nodes& nodes) {
  const int each = blocks_a_node(nodes);
  Shares shares(nodes);
  for (int node = 0; node < nodes.count(); ++node) {
    const int size = nodes.size(node), count = size * std::clamp(each / size, 1, kMostShares);
    for (int i = 0; i < count; ++i) {
      const int from = each * i / count, to = each * (i + 1) / count;
      shares.add(node, {each * node + from, to - from});
    }
  }
  return shares;
}

int Shares::worker(int node, int share) const {
  const int theirs = at(share).node, number = at(share).number, size = nodes_.size(node);
  const int count = static_cast<int>(of_node(theirs).size());
  const int place = size <= count ? number * size / count : (number + theirs * count) % size;
  return nodes_.members(node)[static_cast<std::size_t>(place)];
}

std::vector<int> Shares::of(int rank) const {
  std::vector<int> shares = of_node(nodes_.of(rank));
  std::erase_if(shares, [&](int share) { return owner(share) != rank; });
  return shares;
}

int Shares::most_owned() const {
  int most = 0;
  for (int node = 0; node < nodes_.count(); ++node) {
    const int size = nodes_.size(node), count = static_cast<int>(of_node(node).size());
    most = std::max(most, (count + size - 1) / size);
  }
  return most;
}

}  // namespace weft

// weft/topology.h: ranks a node, and the tree that joins ranks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/error.h"
#include "weft/topology.h"

namespace weft {
namespace {

using List = std::vector<int>;

// A rank each on vertices with these nodes, which have no links.
Topology in_nodes(const List& nodes) {
  Topology topology;
  topology.name = "apart";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    topology.vertices.push_back({"r" + std::to_string(i), nodes[i], -1, 0, 0});
    topology.ranks.push_back(static_cast<int>(i));
  }
  return topology;
}

TEST(Topology, RanksANode) {
  struct Row {
    List nodes;
    int ranks, expected;
  };
  const std::vector<Row> rows = {
      {{0, 0, 1, 1}, 4, 2}, {{0, 0, 1, 1}, 3, 2},    {{0, 0, 1, 1}, 1, 1},
      {{7, 7, 7}, 3, 3},    {{3, 1, 2}, 3, 1},       {{0, 1, 0, 1}, 4, 0},
      {{0, 0, 1}, 3, 2},    {{0, 0, 1, 2, 2}, 5, 0}, {{0, 0, 1, 1, 1, 1}, 6, 0},
      {{-1, -1}, 2, 0},     {{0, 0, 1, 1, 0}, 5, 0}, {{0, 0, 0, 1, 1, 1}, 4, 3},
  };
  for (const Row& row : rows)
    EXPECT_EQ(ranks_a_node(place_of(in_nodes(row.nodes), row.ranks)), row.expected)
        << row.nodes.size() << " vertices, " << row.ranks << " ranks";
  EXPECT_THROW(place_of(in_nodes({0, 0}), 3), InvalidArgument);
}

void join(Topology& topology, int a, int b, double bandwidth, bool full_duplex = true) {
  Topology::Link link;
  link.a = a, link.b = b, link.bandwidth = bandwidth, link.full_duplex = full_duplex;
  topology.links.push_back(link);
}

// Two nodes, of ranks 0, 1 and 2, 3; vertices 4 and 5 are their sockets, 6 and 7 two rails.
Topology two_rails() {
  Topology topology = in_nodes({0, 0, 1, 1, 0, 1, -1, -1});
  topology.ranks.resize(4);
  for (int rail : {6, 7})
    for (int socket : {4, 5}) join(topology, socket, rail, 5e9);
  for (int rank : {0, 1, 2, 3}) join(topology, rank, rank < 2 ? 4 : 5, 10e9);
  return topology;
}

TEST(Topology, TreeOfTheWidestLinks) {
  Topology t = two_rails();
  // 4 is where rank 0 leaves, 5 joins the first node, 6 the second; rails join no more than two.
  EXPECT_EQ(tree_of(t, 4), (List{4, 5, 6, 6, -1, 4, 5}));
  EXPECT_EQ(tree_of(t, 3), (List{3, 4, 4, -1, 3}));
  EXPECT_EQ(tree_of(t, 1), (List{-1}));
  // Ranks 0 and 2 in one node: 5 joins it, 6 the other.
  t.ranks = {0, 2, 1, 3};
  EXPECT_EQ(tree_of(t, 4), (List{4, 6, 5, 6, -1, 4, 5}));
  // Two ranks on one vertex.
  t.ranks = {0, 0, 3, 2};
  EXPECT_EQ(tree_of(t, 4), (List{4, 4, 5, 5, -1, 4}));
  // A link of both directions together is half as wide: 1 hangs on 0, not on the socket.
  t = two_rails();
  t.links[5].full_duplex = false;
  join(t, 0, 1, 6e9);
  EXPECT_EQ(tree_of(t, 2), (List{2, 2, -1}));
  EXPECT_EQ(tree_of(t, 3), (List{3, 3, 3, -1}));
  EXPECT_EQ(tree_of(in_nodes({0, 0}), 2), List{});
}

}  // namespace
}  // namespace weft

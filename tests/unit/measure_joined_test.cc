// Nodes and what joins them as one topology, of made-up measurements.
#include <gtest/gtest.h>

#include "measure/joined.h"

namespace weft::measuring {
namespace {

// A node of so many ranks, whose links say which pair they are of.
Topology node(int ranks, double copy) {
  Topology part;
  part.name = "measured";
  part.copy = copy;
  for (int rank = 0; rank < ranks; ++rank) {
    part.vertices.push_back({"", 0, rank % 2});
    part.ranks.push_back(rank);
    for (int other = 0; other < rank; ++other)
      part.links.push_back({.a = other, .b = rank, .bandwidth = 10.0 * rank, .memory = true});
  }
  return part;
}

// Three nodes: ranks 0, 3; 1, 4, 5; 2. The link of node 2 is the slow one.
const std::vector<int> kPlace = {0, 1, 2, 0, 1, 1};
const Network kNetwork{{4e-6, 8e-6, 8e-6}, {1e9, 2e8, 2e8}, {2e9, 3e8, 3e8}};

Topology made() {
  return joined(members_of(kPlace), {node(2, 5), node(3, 7), node(1, 9)}, kNetwork);
}

TEST(Joined, RanksLieInTheirNodesAndSockets) {
  const Topology whole = made();
  EXPECT_EQ(place_of(whole, 6), kPlace);
  std::vector<int> sockets;
  for (int rank : whole.ranks)
    sockets.push_back(whole.vertices[static_cast<std::size_t>(rank)].socket);
  EXPECT_EQ(sockets, (std::vector<int>{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(whole.copy, 7);  // the largest node's
}

TEST(Joined, WaysAndWhatTheyCarry) {
  const Topology whole = made();
  Routes routes(whole);
  struct Row {
    int from, to;
    std::size_t links;
    double latency, narrowest;
  };
  for (const Row& row : std::vector<Row>{{0, 3, 1, 0, 10},
                                         {4, 5, 1, 0, 20},
                                         // (8 + 4) / 4 and (4 + 8) / 4 us; both are fast.
                                         {0, 1, 4, 6e-6, 1e9},
                                         {3, 5, 4, 6e-6, 1e9},
                                         {5, 2, 4, 7e-6, 2e8}}) {
    double narrowest = 1e12;
    const auto& path = routes.path(row.from, row.to);
    EXPECT_EQ(path.size(), row.links);
    for (const Routes::Hop& hop : path)
      narrowest = std::min(narrowest, whole.links[static_cast<std::size_t>(hop.link)].bandwidth);
    EXPECT_EQ(narrowest, row.narrowest) << row.from << " to " << row.to;
    EXPECT_NEAR(routes.latency(row.from, row.to), row.latency, 1e-9);
  }
}

// What all ranks of a node reach together is its link's; a rank's own is what one gets alone.
TEST(Joined, ANodesLinkIsThatOfAllItsRanks) {
  const Topology whole = made();
  std::vector<double> bandwidths;
  for (const Topology::Link& link : whole.links)
    if (link.b == static_cast<int>(whole.vertices.size()) - 1) bandwidths.push_back(link.bandwidth);
  EXPECT_EQ(bandwidths, (std::vector<double>{2e9, 2e9, 3e8}));
}

}  // namespace
}  // namespace weft::measuring

// weft/topology.h: ways, and what is refused.
#include "weft/topology.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "weft/error.h"

namespace weft {
namespace {

// Four ranks under two leaves, which two roots join:  0 1 -> leaf a, 2 3 -> leaf b.
Topology two_leaves() {
  Topology tree;
  tree.name = "two leaves";
  for (const char* name : {"r0", "r1", "r2", "r3", "a", "b", "x", "y"})
    tree.vertices.push_back({name, -1, -1, 0, 0});
  tree.vertices[4].latency = 1;  // passed by those that leave a, not by those that end there
  auto join = [&](int a, int b) {
    Topology::Link link;
    link.a = a, link.b = b, link.latency = 0.25, link.bandwidth = 1e9;
    tree.links.push_back(link);
  };
  join(0, 4), join(1, 4), join(2, 5), join(3, 5), join(4, 6), join(4, 7), join(6, 5), join(7, 5);
  tree.ranks = {0, 1, 2, 3};
  return tree;
}

std::vector<std::string> way(Routes& routes, const Topology& tree, int from, int to) {
  std::vector<std::string> names;
  for (const Routes::Hop& hop : routes.path(from, to)) {
    const Topology::Link& link = tree.links[static_cast<std::size_t>(hop.link)];
    names.push_back(tree.vertices[static_cast<std::size_t>(hop.forward ? link.b : link.a)].name);
  }
  return names;
}

TEST(Topology, FewestLinksAndTheDestinationChoosesAmongEqualOnes) {
  Topology tree = two_leaves();
  Routes routes(tree);
  using Names = std::vector<std::string>;
  EXPECT_EQ(way(routes, tree, 0, 0), Names{});
  EXPECT_EQ(way(routes, tree, 0, 1), (Names{"a", "r1"}));
  EXPECT_EQ(way(routes, tree, 0, 2), (Names{"a", "x", "b", "r2"}));
  EXPECT_EQ(way(routes, tree, 0, 3), (Names{"a", "y", "b", "r3"}));
  EXPECT_EQ(way(routes, tree, 3, 0), (Names{"b", "x", "a", "r0"}));
  EXPECT_DOUBLE_EQ(routes.latency(0, 1), 1.5);
  EXPECT_DOUBLE_EQ(routes.latency(0, 3), 2);
}

TEST(Topology, WhatMakesNoSenseIsRefusedByName) {
  struct Row {
    std::function<void(Topology&)> spoil;
    const char* says;
  };
  const std::vector<Row> rows = {
      {[](Topology& t) { t.links[1].bandwidth = -1; }, "bandwidth of the link r1 - a"},
      {[](Topology& t) { t.links[1].bandwidth = 0; }, "link r1 - a is missing"},
      {[](Topology& t) { t.links[2].latency = -1e-6; }, "latency of the link r2 - b"},
      {[](Topology& t) { t.links[0].b = 9; }, "vertex 0 to 9"},
      {[](Topology& t) { t.links[0].b = 0; }, "vertex 0 to 0"},
      {[](Topology& t) { t.vertices[4].bandwidth = -5; }, "bandwidth of a"},
      {[](Topology& t) { t.ranks.push_back(8); }, "rank 4"},
      {[](Topology& t) { t.ranks.clear(); }, "no rank"},
      {[](Topology& t) { t.reduce = -1; }, "rate of reductions"},
  };
  for (const Row& row : rows) {
    Topology tree = two_leaves();
    row.spoil(tree);
    try {
      check(tree);
      ADD_FAILURE() << "not refused: " << row.says;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(row.says), std::string::npos) << error.what();
    }
  }
}

TEST(Topology, AMissingWayNamesBothRanks) {
  Topology tree = two_leaves();
  tree.links.resize(4);  // the leaves, unjoined
  Routes routes(tree);
  EXPECT_EQ(routes.path(0, 1).size(), 2U);
  try {
    routes.path(1, 2);
    ADD_FAILURE() << "found a way";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("to rank 2 (r2)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(routes.path(0, 4), InvalidArgument);
}

}  // namespace
}  // namespace weft

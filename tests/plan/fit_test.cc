// weft/fit.h: what of an algorithm's parameters is taken from a topology.
#include "weft/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "weft/error.h"
#include "weft/price.h"
#include "weft/registry.h"

namespace weft {
namespace {

// Nodes of `size` ranks on a switch of their own, which one switch joins.
Topology cluster(int nodes, int size) {
  Topology t;
  t.name = "cluster";
  t.vertices.push_back({"switch", -1, -1, 0, 0});
  auto join = [&](int a, int b, double bandwidth) {
    Topology::Link link;
    link.a = a, link.b = b, link.bandwidth = bandwidth;
    t.links.push_back(link);
  };
  for (int node = 0; node < nodes; ++node) {
    const int leaf = static_cast<int>(t.vertices.size());
    t.vertices.push_back({"leaf" + std::to_string(node), node, -1, 0, 0});
    join(leaf, 0, 5e9);
    for (int i = 0; i < size; ++i) {
      t.ranks.push_back(static_cast<int>(t.vertices.size()));
      t.vertices.push_back({"r" + std::to_string(t.ranks.size()), node, -1, 0, 0});
      join(t.ranks.back(), leaf, 10e9);
    }
  }
  return t;
}

TEST(Fit, FillsInWhatIsAskedForAndOpen) {
  struct Row {
    const char* algorithm;
    int ranks;
    Params given, expected;
  };
  const std::vector<Row> rows = {
      {"lr_lr", 12, {}, {{"node", 4}}},
      {"lr_lr", 12, {{"node", 3}}, {}},
      {"lr_lr", 3, {}, {{"node", 3}}},
      // Of eight ranks the default has two a node: refused without the topology's four.
      {"multi_leader", 8, {{"leaders", 4}}, {{"node", 4}}},
      {"allreduce/two_level", 8, {}, {{"node", 4}}},
      {"allreduce/tree_levels", 6, {}, {}},  // 4 does not divide 6: its own default
      {"chain_reversed", 6, {{"root", 5}}, {{"node", 4}}},
      {"ta_pc", 3, {}, {{"tree", std::vector{3, 4, 4, -1, 3}}}},
      {"ta_pc", 3, {{"tree", std::vector{3, 3, 3, -1}}}, {}},
      {"lr", 8, {}, {}},
      {"pc", 8, {}, {}},
      {"ta_pc", 1, {}, {{"tree", std::vector{-1}}}},
      {"lr_lr", 8, {{"leaders", 9}}, {}},  // refused whatever is filled in
  };
  const Topology t = cluster(3, 4);
  for (const Row& row : rows)
    EXPECT_EQ(fit(find_algorithm(row.algorithm), row.ranks, row.given, t), row.expected)
        << row.algorithm << ", " << row.ranks << " ranks";
  EXPECT_THROW(fit(find_algorithm("lr"), 13, {}, t), InvalidArgument);
}

int ranks_of(const std::vector<int>& place) { return std::max(1, static_cast<int>(place.size())); }

// Where ranks do not lie in order the list takes the number's place.
TEST(Fit, NodesInAnyOrder) {
  struct Row {
    const char* algorithm;
    std::vector<int> place;
    Params given, expected;
  };
  const std::vector<Row> rows = {
      {"allreduce/two_level", {0, 0, 1, 1}, {}, {{"node", 2}}},
      {"allreduce/two_level", {0, 1, 0, 1}, {}, {{"place", std::vector{0, 1, 0, 1}}}},
      {"allreduce/two_level", {0, 1, 1}, {}, {{"place", std::vector{0, 1, 1}}}},
      {"allreduce/two_level", {0, 1, 0, 1}, {{"node", 2}}, {}},
      {"allreduce/tree_levels", {0, 1, 0, 1}, {}, {}},  // it asks for no place
      {"lr", {0, 1, 0, 1}, {}, {}},
      {"lr_lr", {}, {}, {}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(fit_place(find_algorithm(row.algorithm), ranks_of(row.place), row.given, row.place),
              row.expected)
        << row.algorithm;
  Topology t = cluster(2, 2);
  std::swap(t.ranks[1], t.ranks[2]);
  EXPECT_EQ(fit(find_algorithm("lr_lr"), 4, {}, t), (Params{{"place", std::vector{0, 1, 0, 1}}}));
}

TEST(Fit, APriceSaysWhatWasFilledIn) {
  const Topology t = cluster(3, 4);
  const Price open = price("lr_lr", 12, 1 << 20, t);
  EXPECT_EQ(open.fitted, (Params{{"node", 4}}));
  const Price given = price("lr_lr", 12, 1 << 20, t, {{"node", 4}});
  EXPECT_EQ(given.fitted, Params{});
  EXPECT_EQ(open.seconds, given.seconds);
  EXPECT_LT(open.seconds, price("lr_lr", 12, 1 << 20, t, {{"node", 3}}).seconds);
}

}  // namespace
}  // namespace weft

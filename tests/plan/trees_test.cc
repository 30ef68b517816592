// Orders of ranks that suit a tree of switches.
#include "algorithms/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

// How often a chain in this order uses the busiest direction of a link.
int busiest(const Tree& tree, const std::vector<int>& order) {
  auto way_up = [&](int vertex) {
    std::vector<int> way;
    for (; vertex >= 0; vertex = tree[static_cast<std::size_t>(vertex)]) way.push_back(vertex);
    return way;
  };
  std::map<std::pair<int, bool>, int> uses;  // (lower end, upwards)
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    auto from = way_up(order[i]), to = way_up(order[i + 1]);
    while (!from.empty() && !to.empty() && from.back() == to.back()) from.pop_back(), to.pop_back();
    for (int vertex : from) ++uses[{vertex, true}];
    for (int vertex : to) ++uses[{vertex, false}];
  }
  int most = 0;
  for (const auto& [link, count] : uses) most = std::max(most, count);
  return most;
}

// Ranks scattered over a tree of switches in which a rank may be a switch too.
TEST(Chains, AWalkUsesEachDirectionOfALinkOnce) {
  std::mt19937 random(1);
  int worse = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const int ranks = 2 + trial % 16, size = ranks + 1 + trial % 7;
    std::vector<int> number(static_cast<std::size_t>(size));
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    Tree tree(static_cast<std::size_t>(size), -1);
    for (std::size_t i = 1; i < number.size(); ++i)
      tree[static_cast<std::size_t>(number[i])] = number[random() % i];
    ASSERT_EQ(fault_of_tree(tree, ranks), "");
    std::vector<int> order = walk(tree, ranks);
    for (int root = 0; root < ranks; ++root) {
      EXPECT_EQ(busiest(tree, order), 1) << "from " << order[0];
      std::rotate(order.begin(), order.begin() + 1, order.end());
    }
    std::vector<int> natural(static_cast<std::size_t>(ranks));
    std::iota(natural.begin(), natural.end(), 0);
    worse += busiest(tree, natural) > 1;
  }
  EXPECT_GT(worse, 25);
}

TEST(Chains, AWalkLeavesAGoodOrderAlone) {
  EXPECT_EQ(walk({8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, -1}, 8),
            (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(walk({5, 4, 5, 4, 6, 6, -1}, 4), (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(walk({-1}, 1), (std::vector{0}));
}

}  // namespace
}  // namespace weft

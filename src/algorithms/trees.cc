#include "algorithms/trees.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

std::size_t index(int vertex) { return static_cast<std::size_t>(vertex); }

// Children of each vertex, by the smallest rank below them.
struct Branches {
  int top = -1;
  std::vector<std::vector<int>> below;
};

// Vertices from the top down, so that parents come before their children. Shorter than the tree if
// part of the tree is not below the top.
std::vector<int> downwards(const Branches& branches) {
  std::vector<int> found = {branches.top};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (int child : branches.below[index(found[i])]) found.push_back(child);
  return found;
}

Branches branches_of(const Tree& tree) {
  Branches branches{-1, std::vector<std::vector<int>>(tree.size())};
  for (int vertex = 0; vertex < static_cast<int>(tree.size()); ++vertex) {
    const int parent = tree[index(vertex)];
    if (parent < 0)
      branches.top = vertex;
    else
      branches.below[index(parent)].push_back(vertex);
  }
  return branches;
}

}  // namespace

TreePlace chain_place(const Group& ring, int root) {
  int start = 0;
  while (ring.at(start) != root) ++start;
  const int from_root = ring.wrap(ring.me() - start);
  TreePlace place;
  if (from_root > 0) place.parent = ring.at(ring.me() - 1);
  if (from_root < ring.size() - 1) place.children = {ring.at(ring.me() + 1)};
  return place;
}

TreePlace knomial_place(int rank, int ranks, int root, int radix) {
  const int number = (rank - root + ranks) % ranks;
  auto rank_of = [&](int counted) { return (counted + root) % ranks; };
  TreePlace place;
  for (long long weight = 1; weight < ranks; weight *= radix) {
    const int w = static_cast<int>(weight), digit = number / w % radix;
    if (digit > 0) {
      place.parent = rank_of(number - digit * w);
      break;
    }
    for (int d = 1; d < radix && number + d * weight < ranks; ++d)
      place.children.push_back(rank_of(number + d * w));
  }
  std::reverse(place.children.begin(), place.children.end());
  return place;
}

const std::vector<std::string>& tree_kinds() {
  static const std::vector<std::string> kinds = {"knomial", "chain"};
  return kinds;
}

TreePlace tree_place(const std::string& kind, int place, int size, int radix) {
  if (kind == "chain") return chain_place(Group(place, size), 0);
  return knomial_place(place, size, 0, radix);
}

std::string fault_of_tree(const Tree& tree, int ranks) {
  const int size = static_cast<int>(tree.size());
  if (size < ranks)
    return "a tree of " + std::to_string(size) + " vertices: the first " + std::to_string(ranks) +
           " are the ranks";
  int tops = 0;
  for (int vertex = 0; vertex < size; ++vertex) {
    const int parent = tree[index(vertex)];
    if (parent < -1 || parent >= size)
      return "vertex " + std::to_string(vertex) + " has the parent " + std::to_string(parent) +
             ": vertices are 0 .. " + std::to_string(size - 1) + ", and -1 is above the top";
    if (parent == -1) ++tops;
  }
  if (tops != 1) return "a tree with " + std::to_string(tops) + " tops (parent -1): give it one";
  if (downwards(branches_of(tree)).size() != tree.size())
    return "a tree with vertices that are not below its top: their parents form a circle";
  return {};
}

std::vector<int> walk(const Tree& tree, int ranks) {
  Branches branches = branches_of(tree);
  const std::vector<int> down = downwards(branches);
  // A vertex without a rank below it comes last.
  std::vector<int> smallest(tree.size());
  for (std::size_t v = 0; v < tree.size(); ++v)
    smallest[v] = static_cast<int>(v) < ranks ? static_cast<int>(v) : ranks;
  for (auto vertex = down.rbegin(); vertex != down.rend(); ++vertex)
    if (const int parent = tree[index(*vertex)]; parent >= 0)
      smallest[index(parent)] = std::min(smallest[index(parent)], smallest[index(*vertex)]);

  std::vector<int> order, stack = {branches.top};
  while (!stack.empty()) {
    const int vertex = stack.back();
    stack.pop_back();
    if (vertex < ranks) order.push_back(vertex);
    auto& children = branches.below[index(vertex)];
    std::sort(children.begin(), children.end(),
              [&](int a, int b) { return smallest[index(a)] > smallest[index(b)]; });
    stack.insert(stack.end(), children.begin(), children.end());
  }
  return order;
}

}  // namespace weft

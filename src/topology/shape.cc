#include <cstddef>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "weft/topology.h"

namespace weft {
namespace {

std::size_t as_index(int value) { return static_cast<std::size_t>(value); }

// Vertices joined by the widest links, from `start` on; those that no link leads to are left out.
struct Spanning {
  std::vector<int> order;   // parents first
  std::vector<int> parent;  // by vertex; -1 for the start and for what is left out
};

double width(const Topology::Link& link) {
  return link.full_duplex ? link.bandwidth : link.bandwidth / 2;
}

// Prim's algorithm: of all links that lead on, the widest next; of equal ones the first found.
Spanning span(const Topology& topology, int start) {
  struct Edge {
    int to;
    double width;
  };
  std::vector<std::vector<Edge>> edges(topology.vertices.size());
  for (const Topology::Link& link : topology.links) {
    edges[as_index(link.a)].push_back({link.b, width(link)});
    edges[as_index(link.b)].push_back({link.a, width(link)});
  }
  Spanning tree{{}, std::vector<int>(edges.size(), -1)};
  std::vector<bool> reached(edges.size(), false);
  using Candidate = std::tuple<double, int, int, int>;  // width, -found, from, to
  std::priority_queue<Candidate> candidates;
  int found = 0;
  candidates.push({0, found, -1, start});
  while (!candidates.empty()) {
    const auto [_, number, from, to] = candidates.top();
    candidates.pop();
    if (reached[as_index(to)]) continue;
    reached[as_index(to)] = true;
    tree.parent[as_index(to)] = from;
    tree.order.push_back(to);
    for (const Edge& edge : edges[as_index(to)])
      if (!reached[as_index(edge.to)]) candidates.push({edge.width, --found, to, edge.to});
  }
  return tree;
}

}  // namespace

std::vector<int> place_of(const Topology& topology, int ranks) {
  check(topology, ranks);
  std::vector<int> place;
  for (int rank = 0; rank < ranks; ++rank) {
    place.push_back(topology.vertices[as_index(topology.ranks[as_index(rank)])].node);
    if (place.back() < 0) return {};
  }
  return place;
}

int ranks_a_node(const std::vector<int>& place) {
  const int ranks = static_cast<int>(place.size());
  const auto node = [&](int rank) { return place[as_index(rank)]; };
  if (ranks == 0) return 0;
  int size = 1;
  while (size < ranks && node(size) == node(0)) ++size;
  std::set<int> seen;
  for (int first = 0; first < ranks; first += size) {
    if (!seen.insert(node(first)).second) return 0;
    for (int rank = first; rank < ranks && rank < first + size; ++rank)
      if (node(rank) != node(first)) return 0;
  }
  return size;
}

std::vector<int> tree_of(const Topology& topology, int ranks) {
  check(topology, ranks);
  const auto vertex = [&](int rank) { return as_index(topology.ranks[as_index(rank)]); };
  const Spanning spanning = span(topology, topology.ranks[0]);
  // Ranks, and branches with ranks, that hang on each vertex.
  std::vector<int> branches(topology.vertices.size(), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    ++branches[vertex(rank)];
    if (vertex(rank) != vertex(0) && spanning.parent[vertex(rank)] < 0) return {};
  }
  for (auto v = spanning.order.rbegin(); v != spanning.order.rend(); ++v)
    if (const int above = spanning.parent[as_index(*v)]; above >= 0 && branches[as_index(*v)] > 0)
      ++branches[as_index(above)];
  // A vertex that joins fewer than two is left out: its one branch hangs on the next vertex above.
  std::vector<int> tree(as_index(ranks)), number(topology.vertices.size(), -1);
  for (int v : spanning.order) {
    const int parent = spanning.parent[as_index(v)];
    const int above = parent < 0 ? -1 : number[as_index(parent)];
    number[as_index(v)] = branches[as_index(v)] < 2 ? above : static_cast<int>(tree.size());
    if (branches[as_index(v)] >= 2) tree.push_back(above);
  }
  for (int rank = 0; rank < ranks; ++rank) tree[as_index(rank)] = number[vertex(rank)];
  return tree;
}

}  // namespace weft

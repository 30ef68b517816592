#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/error.h"
#include "weft/topology.h"

namespace weft {
namespace {

std::size_t index(int value) { return static_cast<std::size_t>(value); }

}  // namespace

Routes::Routes(const Topology& topology) : topology_(topology) {
  check(topology);
  edges_.resize(topology.vertices.size());
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const Topology::Link& link = topology.links[i];
    edges_[index(link.a)].push_back({static_cast<int>(i), link.b});
    edges_[index(link.b)].push_back({static_cast<int>(i), link.a});
  }
  next_.resize(topology.ranks.size());
  is_rank_.resize(topology.vertices.size());
  for (int vertex : topology.ranks) is_rank_[index(vertex)] = true;
}

int Routes::vertex_of(int rank) const {
  if (rank < 0 || index(rank) >= topology_.ranks.size())
    throw InvalidArgument("topology " + topology_.name + " has " +
                          std::to_string(topology_.ranks.size()) + " ranks, no rank " +
                          std::to_string(rank) + ": take a larger one");
  return topology_.ranks[index(rank)];
}

// Breadth first from the destination; then every vertex takes one of the links that lead nearer.
const std::vector<int>& Routes::toward(int rank) {
  const int goal = vertex_of(rank);
  std::vector<int>& next = next_[index(rank)];
  if (!next.empty()) return next;
  next.assign(edges_.size(), -1);
  std::vector<int> distance(edges_.size(), -1), reached = {goal};
  // The highest number of a vertex between each and the goal, on the way that is taken.
  std::vector<int> highest(edges_.size(), -1);
  distance[index(goal)] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const Edge& edge : edges_[index(reached[i])])
      if (distance[index(edge.to)] < 0) {
        distance[index(edge.to)] = distance[index(reached[i])] + 1;
        reached.push_back(edge.to);
      }
  std::vector<Edge> nearer;
  for (int vertex : reached) {
    nearer.clear();
    for (const Edge& edge : edges_[index(vertex)])
      if (distance[index(edge.to)] == distance[index(vertex)] - 1) nearer.push_back(edge);
    if (nearer.empty()) continue;
    const Edge& taken = among(nearer, vertex, rank, highest);
    next[index(vertex)] = taken.link;
    if (taken.to != goal) highest[index(vertex)] = std::max(taken.to, highest[index(taken.to)]);
  }
  return next;
}

// Links between switches are equal and share the load. Past a rank, links may be of several kinds:
// the lowest numbers are taken, which makes the way back the same one.
const Routes::Edge& Routes::among(const std::vector<Edge>& nearer, int vertex, int rank,
                                  const std::vector<int>& highest) const {
  const auto at_rank = [&](const Edge& edge) { return is_rank_[index(edge.to)]; };
  if (!is_rank_[index(vertex)] && std::none_of(nearer.begin(), nearer.end(), at_rank))
    return nearer[index(rank) % nearer.size()];
  const auto lower = [&](const Edge& a, const Edge& b) {
    const int past_a = std::max(a.to, highest[index(a.to)]);
    const int past_b = std::max(b.to, highest[index(b.to)]);
    return std::pair(past_a, a.to) < std::pair(past_b, b.to);
  };
  return *std::min_element(nearer.begin(), nearer.end(), lower);
}

const std::vector<Routes::Hop>& Routes::path(int from, int to) {
  const std::vector<int>& next = toward(to);
  const int goal = vertex_of(to);
  path_.clear();
  for (int at = vertex_of(from); at != goal;) {
    const int link = next[index(at)];
    if (link < 0)
      throw InvalidArgument("topology " + topology_.name + ": no way leads from rank " +
                            std::to_string(from) + " (" + topology_.vertices[index(at)].name +
                            ") to rank " + std::to_string(to) + " (" +
                            topology_.vertices[index(goal)].name + "): add links between them");
    const bool forward = topology_.links[index(link)].a == at;
    path_.push_back({link, forward});
    at = forward ? topology_.links[index(link)].b : topology_.links[index(link)].a;
  }
  return path_;
}

double Routes::latency(int from, int to) {
  double seconds = 0;
  bool first = true;
  for (const Hop& hop : path(from, to)) {
    const Topology::Link& link = topology_.links[index(hop.link)];
    if (!first) seconds += topology_.vertices[index(hop.forward ? link.a : link.b)].latency;
    seconds += link.latency;
    first = false;
  }
  return seconds;
}

}  // namespace weft

#include "measure/joined.h"

#include <algorithm>
#include <string>

namespace weft::measuring {
namespace {

// The ranks of a node with what joins them, at their places among all.
void add_node(Topology& whole, const std::vector<int>& members, int node, const Topology& part) {
  const auto global = [&](int vertex) { return members[static_cast<std::size_t>(vertex)]; };
  for (std::size_t i = 0; i < members.size(); ++i)
    whole.vertices[static_cast<std::size_t>(members[i])] = {"rank" + std::to_string(members[i]),
                                                            node, part.vertices[i].socket};
  for (Topology::Link link : part.links) {
    link.a = global(link.a), link.b = global(link.b);
    whole.links.push_back(link);
  }
}

struct Reach {
  double latency, alone, together;
};

// A node's link to the network, from the figures of the node and of the node before it.
Reach reach(const Network& network, std::size_t node) {
  const std::size_t before = (node + network.latency.size() - 1) % network.latency.size();
  return {(network.latency[before] + network.latency[node]) / 4,
          std::max(network.alone[before], network.alone[node]),
          std::max(network.together[before], network.together[node])};
}

}  // namespace

Topology joined(const Members& nodes, const std::vector<Topology>& parts, const Network& network) {
  const auto largest = std::max_element(
      nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  Topology whole = parts[static_cast<std::size_t>(largest - nodes.begin())];
  whole.vertices.clear(), whole.links.clear(), whole.ranks.clear();
  for (const std::vector<int>& members : nodes)
    for ([[maybe_unused]] int member : members)
      whole.ranks.push_back(static_cast<int>(whole.ranks.size()));
  whole.vertices.resize(whole.ranks.size());
  for (std::size_t node = 0; node < nodes.size(); ++node)
    add_node(whole, nodes[node], static_cast<int>(node), parts[node]);
  const int middle = static_cast<int>(whole.ranks.size() + nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Reach here = reach(network, node);
    const int port = static_cast<int>(whole.vertices.size());
    whole.vertices.push_back({"port" + std::to_string(node), static_cast<int>(node)});
    for (int rank : nodes[node])
      whole.links.push_back({.a = rank, .b = port, .bandwidth = here.alone});
    whole.links.push_back(
        {.a = port, .b = middle, .latency = here.latency, .bandwidth = here.together});
  }
  whole.vertices.push_back({"network"});
  return whole;
}

}  // namespace weft::measuring

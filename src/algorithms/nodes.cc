#include "algorithms/nodes.h"

#include <algorithm>
#include <map>

#include "algorithms/params.h"
#include "algorithms/pattern.h"

namespace weft {
namespace {

const Param kNoPlace(std::vector<int>{});

std::vector<int> consecutive(int ranks, int size) {
  std::vector<int> place;
  for (int rank = 0; rank < ranks; ++rank) place.push_back(rank / size);
  return place;
}

}  // namespace

Nodes::Nodes(const std::vector<int>& place) {
  std::map<int, int> number;
  for (int rank = 0; rank < static_cast<int>(place.size()); ++rank) {
    const int given = place[static_cast<std::size_t>(rank)];
    const int node = number.emplace(given, count()).first->second;
    if (node == count()) members_.emplace_back();
    std::vector<int>& members = members_[static_cast<std::size_t>(node)];
    node_.push_back(node);
    local_.push_back(static_cast<int>(members.size()));
    members.push_back(rank);
  }
}

Nodes::Nodes(int ranks, int size) : Nodes(consecutive(ranks, size)) {}

int Nodes::largest_node() const {
  int most = 0;
  for (int node = 1; node < count(); ++node)
    if (size(node) > size(most)) most = node;
  return most;
}

int Nodes::least() const {
  int least = largest();
  for (int node = 0; node < count(); ++node) least = std::min(least, size(node));
  return least;
}

Nodes nodes_of(Builder& b) {
  const std::vector<int>& place = b.param("place", kNoPlace).list();
  return place.empty() ? Nodes(b.ranks(), b.param("node", node_size_for(b.ranks()))) : Nodes(place);
}

Nodes nodes_of(int ranks, const Params& params) {
  const std::vector<int>& place = param_of(params, "place", kNoPlace).list();
  const Param usual = node_size_for(ranks);
  return place.empty() ? Nodes(ranks, param_of(params, "node", usual)) : Nodes(place);
}

std::string refusal_of_nodes(int ranks, const Params& params) {
  const std::vector<int>& place = param_of(params, "place", kNoPlace).list();
  if (place.empty()) return refusal_below(params, "node", 1);
  if (params.contains("node")) return "node and place: give one of them";
  if (static_cast<int>(place.size()) == ranks) return {};
  return "place = " + to_text(Param(place)) + ": give the node of each of " +
         std::to_string(ranks) + " ranks";
}

}  // namespace weft

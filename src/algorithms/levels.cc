#include "algorithms/levels.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

int at(const Turn& turn, int place) {
  const auto index = static_cast<std::size_t>(place);
  return index < turn.size() ? turn[index] : -1;
}

// Each turn begins while the one before ends.
void in_turns(const std::vector<Turn>& turns, const std::function<void(const Turn&)>& begin,
              const std::function<void(const Turn&)>& end) {
  for (std::size_t i = 0; i <= turns.size(); ++i) {
    if (i < turns.size()) begin(turns[i]);
    if (i > 0) end(turns[i - 1]);
  }
}

// The ranks of all other nodes, each at its deputy's place.
std::vector<Turn> turns_across(const Nodes& nodes, int home) {
  std::vector<Turn> turns;
  for (int hop = 1; hop < nodes.count(); ++hop) {
    const std::size_t first = turns.size();
    std::vector<std::size_t> taken(static_cast<std::size_t>(nodes.size(home)), 0);
    for (int rank : nodes.members((home + hop) % nodes.count())) {
      const auto place = static_cast<std::size_t>(nodes.local(nodes.deputy(home, rank)));
      const std::size_t turn = first + taken[place]++;
      if (turn == turns.size()) turns.emplace_back(taken.size(), -1);
      turns[turn][place] = rank;
    }
  }
  return turns;
}

// Blocks a node, so that its ranks can own equally many. Where that would cut the message into
// too many, as many as the largest node has ranks: they differ by one then.
int blocks_a_node(const Nodes& nodes) {
  constexpr int kMost = 4;  // for each rank of the largest node
  int all = 1;
  for (int node = 0; node < nodes.count(); ++node) {
    all = std::lcm(all, nodes.size(node));
    if (all > kMost * nodes.largest()) return nodes.largest();
  }
  return all;
}

// Parts that one rank is deputy for, at most.
int most_turns(const Nodes& nodes) {
  int most = 0;
  for (int node = 0; node < nodes.count(); ++node)
    most = std::max(most, static_cast<int>(turns_across(nodes, node).size()));
  return most;
}

// For what is sent to each of `count` ranks in a trip, and returned two trips later.
int slots_for(int count) { return 3 * std::max(1, count); }

}  // namespace

Width crossing_width(Builder& b, const Nodes& nodes) {
  const int wide = b.param("wide", 1), wire = b.param("wire", 0);
  if (wire != 0 && nodes.count() > 1) return Width::kNarrow;
  return wide != 0 ? Width::kWide : Width::kPlain;
}

Parts block_each(const Nodes& nodes) {
  Parts parts;
  for (int rank = 0; rank < nodes.ranks(); ++rank) parts.push_back({rank, 1});
  return parts;
}

Parts equal_for_nodes(const Nodes& nodes) {
  const int each = blocks_a_node(nodes);
  Parts parts;
  for (int rank = 0; rank < nodes.ranks(); ++rank) {
    const int node = nodes.of(rank), size = nodes.size(node), place = nodes.local(rank);
    const int from = each * place / size, to = each * (place + 1) / size;
    parts.push_back({each * node + from, to - from});
  }
  return parts;
}

int blocks_of(const Parts& parts) {
  int blocks = 0;
  for (const BlockRange& part : parts) blocks += part.count;
  return blocks;
}

void sum_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                  const PartOf& input, const std::function<void(int of, Sum& sum)>& summed) {
  const auto hand_in = [&](const Turn& turn) {
    for (int hop = 1; hop < node.size(); ++hop)
      if (const int of = at(turn, node.wrap(node.me() + hop)); of >= 0)
        b.put(input(of), {node.at(node.me() + hop)}, channel);
  };
  const auto add_up = [&](const Turn& turn) {
    const int of = at(turn, node.me());
    if (of < 0) return;
    Sum sum = collect(b, node, channel, [&](int) { return own(input(of)); });
    summed(of, sum);
  };
  in_turns(turns, hand_in, add_up);
}

void share_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                    const PartOf& output, const std::function<void(int of)>& fetch) {
  const auto pass_on = [&](const Turn& turn) {
    const int of = at(turn, node.me());
    if (of < 0) return;
    fetch(of);
    if (node.size() > 1) put_everywhere(b, output(of), others(node), channel);
  };
  const auto receive = [&](const Turn& turn) {
    for (int hop = 1; hop < node.size(); ++hop)
      if (const int of = at(turn, node.wrap(node.me() - hop)); of >= 0)
        take(b, output(of), node.at(node.me() - hop), channel);
  };
  in_turns(turns, pass_on, receive);
}

ReduceLevels::ReduceLevels(Builder& b, const Nodes& nodes, const Parts& parts, Width crossing)
    : nodes_(nodes),
      parts_(parts),
      home_(nodes.around(b.rank())),
      turns_(turns_across(nodes, nodes.of(b.rank()))) {
  const int mates = nodes.largest() - 1, across = most_turns(nodes);
  if (mates > 0) near_ = b.channel(slots_for(mates));
  if (mates > 0 && across > 0) inner_ = b.channel(slots_for(mates));
  if (across == 0) return;
  if (crossing == Width::kNarrow) {
    across_.plain = across_.sums = b.channel(slots_for(across), crossing);
    return;
  }
  if (nodes.least() == 1) across_.plain = b.channel(slots_for(across));
  if (mates > 0) across_.sums = b.channel(slots_for(across), crossing);
}

Operand ReduceLevels::input(Builder& b, int rank) const {
  const BlockRange& part = parts_[static_cast<std::size_t>(rank)];
  return b.input(part.first, part.count);
}

void ReduceLevels::hand_in(Builder& b) const {
  const auto part = [&](int rank) { return input(b, rank); };
  for (int mate : others(home_)) b.put(part(mate), {mate}, near_);
  sum_in_turns(b, home_, turns_, inner_, part, [&](int rank, Sum& sum) {
    send(b, sum, rank, across_);
    release(b, sum);
  });
}

Sum ReduceLevels::collect(Builder& b) const {
  Sum sum = weft::collect(b, home_, near_, [&](int) { return own(input(b, b.rank())); });
  for (int node = 0; node < nodes_.count(); ++node)
    if (node != nodes_.of(b.rank()))
      receive(b, sum, nodes_.deputy(node, b.rank()),
              nodes_.size(node) == 1 ? across_.plain : across_.sums);
  return sum;
}

GatherLevels::GatherLevels(Builder& b, const Nodes& nodes, const Parts& parts, Width width)
    : parts_(parts),
      home_(nodes.around(b.rank())),
      turns_(turns_across(nodes, nodes.of(b.rank()))),
      listeners_(others(home_)) {
  for (int hop = 1; hop < nodes.count(); ++hop)
    listeners_.push_back(nodes.deputy((nodes.of(b.rank()) + hop) % nodes.count(), b.rank()));
  channel_ = b.channel(4, width);
  if (nodes.largest() > 1 && nodes.count() > 1) shared_ = b.channel(4);
}

void GatherLevels::gather(Builder& b) const {
  const auto part = [&](int rank) {
    const BlockRange& range = parts_[static_cast<std::size_t>(rank)];
    return b.output(range.first, range.count);
  };
  direct_allgather(b, home_, channel_, [&](int place) { return part(home_.at(place)); });
  share_in_turns(b, home_, turns_, shared_, part,
                 [&](int rank) { take(b, part(rank), rank, channel_); });
}

}  // namespace weft

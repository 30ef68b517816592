#include "algorithms/levels.h"

#include <algorithm>

namespace weft {
namespace {

int size_of(const Turn& turn) { return static_cast<int>(turn.size()); }

// The block of this rank in a turn; -1: none is left for it.
int own_of(const Turn& turn, const Group& node) {
  return node.me() < size_of(turn) ? turn[static_cast<std::size_t>(node.me())] : -1;
}

// Each turn begins while the one before ends.
void in_turns(const std::vector<Turn>& turns, const std::function<void(const Turn&)>& begin,
              const std::function<void(const Turn&)>& end) {
  for (std::size_t i = 0; i <= turns.size(); ++i) {
    if (i < turns.size()) begin(turns[i]);
    if (i > 0) end(turns[i - 1]);
  }
}

// Blocks that one rank is deputy for, at most.
int most_turns(const Nodes& nodes) {
  int most = 0;
  for (int node = 0; node < nodes.count(); ++node)
    most =
        std::max(most, static_cast<int>(turns_across(nodes, nodes.members(node).front()).size()));
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

std::vector<Turn> turns_across(const Nodes& nodes, int rank) {
  const int home = nodes.of(rank), places = nodes.size(home);
  std::vector<Turn> turns;
  for (int hop = 1; hop < nodes.count(); ++hop) {
    const std::vector<int>& there = nodes.members((home + hop) % nodes.count());
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (i % static_cast<std::size_t>(places) == 0) turns.emplace_back();
      turns.back().push_back(there[i]);
    }
  }
  return turns;
}

void sum_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                  const std::function<void(int block, Sum& sum)>& summed) {
  const auto hand_in = [&](const Turn& turn) {
    for (int hop = 1; hop < node.size(); ++hop)
      if (const int place = node.wrap(node.me() + hop); place < size_of(turn))
        b.put(b.input(turn[static_cast<std::size_t>(place)]), {node.at(place)}, channel);
  };
  const auto add_up = [&](const Turn& turn) {
    const int block = own_of(turn, node);
    if (block < 0) return;
    Sum sum = collect(b, node, channel, [&](int) { return own(b.input(block)); });
    summed(block, sum);
  };
  in_turns(turns, hand_in, add_up);
}

void share_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                    const std::function<void(int block)>& fetch) {
  const auto pass_on = [&](const Turn& turn) {
    const int block = own_of(turn, node);
    if (block < 0) return;
    fetch(block);
    if (node.size() > 1) put_everywhere(b, b.output(block), others(node), channel);
  };
  const auto receive = [&](const Turn& turn) {
    for (int hop = 1; hop < node.size(); ++hop) {
      const int place = node.wrap(node.me() - hop);
      if (place < size_of(turn))
        take(b, b.output(turn[static_cast<std::size_t>(place)]), node.at(place), channel);
    }
  };
  in_turns(turns, pass_on, receive);
}

ReduceLevels::ReduceLevels(Builder& b, const Nodes& nodes, Width crossing)
    : nodes_(nodes), home_(nodes.around(b.rank())), turns_(turns_across(nodes, b.rank())) {
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

void ReduceLevels::hand_in(Builder& b) const {
  for (int mate : others(home_)) b.put(b.input(mate), {mate}, near_);
  sum_in_turns(b, home_, turns_, inner_, [&](int block, Sum& sum) {
    send(b, sum, block, across_);
    release(b, sum);
  });
}

Sum ReduceLevels::collect(Builder& b) const {
  Sum sum = weft::collect(b, home_, near_, [&](int) { return own(b.input(b.rank())); });
  for (int node = 0; node < nodes_.count(); ++node)
    if (node != nodes_.of(b.rank()))
      receive(b, sum, nodes_.deputy(node, b.rank()),
              nodes_.size(node) == 1 ? across_.plain : across_.sums);
  return sum;
}

GatherLevels::GatherLevels(Builder& b, const Nodes& nodes, Width width)
    : home_(nodes.around(b.rank())),
      turns_(turns_across(nodes, b.rank())),
      listeners_(others(home_)) {
  for (int hop = 1; hop < nodes.count(); ++hop)
    listeners_.push_back(nodes.deputy((nodes.of(b.rank()) + hop) % nodes.count(), b.rank()));
  channel_ = b.channel(4, width);
  if (nodes.largest() > 1 && nodes.count() > 1) shared_ = b.channel(4);
}

void GatherLevels::gather(Builder& b) const {
  direct_allgather(b, home_, channel_, [&](int place) { return b.output(home_.at(place)); });
  share_in_turns(b, home_, turns_, shared_,
                 [&](int block) { take(b, b.output(block), block, channel_); });
}

}  // namespace weft

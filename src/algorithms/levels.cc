#include "algorithms/levels.h"

#include <algorithm>

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

// The shares of all other nodes, each at its deputy's place.
std::vector<Turn> turns_across(const Shares& shares, int home) {
  const Nodes& nodes = shares.nodes();
  std::vector<Turn> turns;
  for (int hop = 1; hop < nodes.count(); ++hop) {
    const std::size_t first = turns.size();
    std::vector<std::size_t> taken(static_cast<std::size_t>(nodes.size(home)), 0);
    for (int share : shares.of_node((home + hop) % nodes.count())) {
      const auto place = static_cast<std::size_t>(nodes.local(shares.worker(home, share)));
      const std::size_t turn = first + taken[place]++;
      if (turn == turns.size()) turns.emplace_back(taken.size(), -1);
      turns[turn][place] = share;
    }
  }
  return turns;
}

// Shares that one rank is deputy for, at most.
int most_turns(const Shares& shares) {
  std::size_t most = 0;
  for (int node = 0; node < shares.nodes().count(); ++node)
    most = std::max(most, turns_across(shares, node).size());
  return static_cast<int>(most);
}

Operand input_of(Builder& b, BlockRange range) { return b.input(range.first, range.count); }
Operand output_of(Builder& b, BlockRange range) { return b.output(range.first, range.count); }

// For what is sent to each of `count` ranks in a trip, and credited two trips later.
int slots_for(int count) { return 3 * std::max(1, count); }

}  // namespace

Width crossing_width(Builder& b, const Nodes& nodes) {
  const int wide = b.param("wide", 1), wire = b.param("wire", 0);
  if (wire != 0 && nodes.count() > 1) return Width::kNarrow;
  return wide != 0 ? Width::kWide : Width::kPlain;
}

void sum_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                  const PartOf& input, const std::function<void(int share, Sum& sum)>& summed) {
  const auto send_contributions = [&](const Turn& turn) {
    for (int hop = 1; hop < node.size(); ++hop)
      if (const int share = at(turn, node.wrap(node.me() + hop)); share >= 0)
        b.put(input(share), {node.at(node.me() + hop)}, channel);
  };
  const auto add_up = [&](const Turn& turn) {
    const int share = at(turn, node.me());
    if (share < 0) return;
    Sum sum = collect(b, node, channel, [&](int) { return own(input(share)); });
    summed(share, sum);
  };
  in_turns(turns, send_contributions, add_up);
}

void share_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                    const PartOf& output, const std::function<void(int share)>& fetch) {
  const auto pass_on = [&](const Turn& turn) {
    const int share = at(turn, node.me());
    if (share < 0) return;
    fetch(share);
    if (node.size() > 1) put_everywhere(b, output(share), others(node), channel);
  };
  const auto receive = [&](const Turn& turn) {
    for (int hop = 1; hop < node.size(); ++hop)
      if (const int share = at(turn, node.wrap(node.me() - hop)); share >= 0)
        take(b, output(share), node.at(node.me() - hop), channel);
  };
  in_turns(turns, pass_on, receive);
}

ReduceLevels::ReduceLevels(Builder& b, const Shares& shares, Width crossing)
    : shares_(shares),
      home_(shares.nodes().around(b.rank())),
      turns_(turns_across(shares, shares.nodes().of(b.rank()))) {
  const Nodes& nodes = shares.nodes();
  const int mates = nodes.largest() - 1, across = most_turns(shares);
  if (mates > 0) near_ = b.channel(slots_for(mates * shares.most_owned()));
  if (mates > 0 && across > 0) inner_ = b.channel(slots_for(mates));
  if (across == 0) return;
  if (crossing == Width::kNarrow) {
    across_.plain = across_.sums = b.channel(slots_for(across), crossing);
    return;
  }
  if (nodes.least() == 1) across_.plain = b.channel(slots_for(across));
  if (mates > 0) across_.sums = b.channel(slots_for(across), crossing);
}

void ReduceLevels::send_contributions(Builder& b) const {
  const auto input = [&](int share) { return input_of(b, shares_.range(share)); };
  for (int mate : others(home_))
    for (int share : shares_.of(mate)) b.put(input(share), {mate}, near_);
  sum_in_turns(b, home_, turns_, inner_, input, [&](int share, Sum& sum) {
    send(b, sum, shares_.owner(share), across_);
    release(b, sum);
  });
}

Sum ReduceLevels::collect(Builder& b, int share) const {
  const Nodes& nodes = shares_.nodes();
  Sum sum =
      weft::collect(b, home_, near_, [&](int) { return own(input_of(b, shares_.range(share))); });
  for (int node = 0; node < nodes.count(); ++node)
    if (node != nodes.of(b.rank()))
      receive(b, sum, shares_.worker(node, share),
              nodes.size(node) == 1 ? across_.plain : across_.sums);
  return sum;
}

GatherLevels::GatherLevels(Builder& b, const Shares& shares, Width width)
    : shares_(shares),
      home_(shares.nodes().around(b.rank())),
      turns_(turns_across(shares, shares.nodes().of(b.rank()))) {
  const Nodes& nodes = shares.nodes();
  channel_ = b.channel(4 * shares.most_owned(), width);
  if (nodes.largest() > 1 && nodes.count() > 1) shared_ = b.channel(4);
}

std::vector<int> GatherLevels::readers(int share) const {
  const Nodes& nodes = shares_.nodes();
  const int home = nodes.of(shares_.owner(share));
  std::vector<int> readers = others(home_);
  for (int hop = 1; hop < nodes.count(); ++hop)
    readers.push_back(shares_.worker((home + hop) % nodes.count(), share));
  return readers;
}

void GatherLevels::gather(Builder& b) const {
  const auto output = [&](int share) { return output_of(b, shares_.range(share)); };
  for (int hop = 1; hop < home_.size(); ++hop) {
    const int mate = home_.at(home_.me() - hop);
    for (int share : shares_.of(mate)) take(b, output(share), mate, channel_);
  }
  share_in_turns(b, home_, turns_, shared_, output,
                 [&](int share) { take(b, output(share), shares_.owner(share), channel_); });
}

}  // namespace weft

#include "algorithms/phases.h"

namespace weft {

Sum own(const Operand& input) { return {input, {input}, {}}; }

namespace {

bool converts(const Builder& b, int channel) {
  return b.shape().channels[static_cast<std::size_t>(channel)].width != Width::kPlain;
}

}  // namespace

int send(Builder& b, const Sum& sum, int to, const Wire& wire) {
  if (sum.plain() && !converts(b, wire.plain)) {
    b.put(sum.terms.front(), {to}, wire.plain);
    return wire.plain;
  }
  b.reduce({b.slot(wire.sums)}, sum.terms, Builder::kPartial, sum.order);
  b.signal({to}, wire.sums, sum.block);
  return wire.sums;
}

void receive(Builder& b, Sum& sum, int from, int channel) {
  b.wait(from, channel, sum.block);
  sum.terms.push_back(b.slot(from, channel));
  sum.held.push_back({from, channel});
}

void take(Builder& b, const Operand& output, int from, int channel) {
  b.wait(from, channel, output);
  b.copy({output}, b.slot(from, channel));
  b.credit(from, channel, output);
}

void store(Builder& b, const Operand& output, const Sum& sum, const std::vector<int>& to,
           int channel) {
  if (!to.empty() && converts(b, channel)) {
    b.reduce({output, b.slot(channel)}, sum.terms, Builder::kLast, sum.order);
    b.signal(to, channel, output);
  } else {
    b.reduce({output}, sum.terms, Builder::kLast, sum.order);
    if (!to.empty()) put_everywhere(b, output, to, channel);
  }
  release(b, sum);
}

void put_everywhere(Builder& b, const Operand& output, const std::vector<int>& to, int channel) {
  std::vector<Operand> dst;
  for (int rank : to)
    dst.push_back(b.output_of(rank, output.range.block.base, output.range.blocks));
  b.put(dst, output, to, channel);
}

void release(Builder& b, const Sum& sum) {
  for (const Sum::Received& received : sum.held)
    b.credit(received.from, received.channel, sum.block);
}

std::vector<int> others(const Group& group) {
  std::vector<int> ranks;
  for (int hop = 1; hop < group.size(); ++hop) ranks.push_back(group.at(group.me() + hop));
  return ranks;
}

std::vector<int> next_in(const Group& group) {
  if (group.size() == 1) return {};
  return {group.at(group.me() + 1)};
}

Sum ring_reduce_scatter(Builder& b, const Group& group, const Wire& wire,
                        const Contribution& mine) {
  const int left = group.at(group.me() - 1), right = group.at(group.me() + 1);
  Sum sum = mine(group.wrap(group.me() - 1));
  for (int hop = 1; hop < group.size(); ++hop) {
    int channel = send(b, sum, right, wire);
    release(b, sum);
    sum = mine(group.wrap(group.me() - 1 - hop));
    receive(b, sum, left, channel);
  }
  return sum;
}

int send_contributions(Builder& b, const Group& group, const Wire& wire, const Contribution& mine) {
  int channel = -1;
  for (int hop = 1; hop < group.size(); ++hop) {
    int place = group.wrap(group.me() + hop);
    Sum sum = mine(place);
    channel = send(b, sum, group.at(place), wire);
    release(b, sum);
  }
  return channel;
}

Sum collect(Builder& b, const Group& group, int channel, const Contribution& mine) {
  Sum own = mine(group.me());
  Sum sum{own.block, {}, own.held, Builder::kTree};
  for (int place = 0; place < group.size(); ++place) {
    if (place == group.me())
      sum.terms.insert(sum.terms.end(), own.terms.begin(), own.terms.end());
    else
      receive(b, sum, group.at(place), channel);
  }
  return sum;
}

Sum direct_reduce_scatter(Builder& b, const Group& group, const Wire& wire,
                          const Contribution& mine) {
  int channel = send_contributions(b, group, wire, mine);
  return collect(b, group, channel, mine);
}

void ring_allgather(Builder& b, const Group& group, int channel, const BlockOf& block,
                    const Arrived& arrived) {
  const int left = group.at(group.me() - 1), right = group.at(group.me() + 1);
  for (int hop = 1; hop < group.size(); ++hop) {
    const int place = group.wrap(group.me() - hop);
    const Operand output = block(place);
    const bool passes_on = hop + 1 < group.size();
    b.wait(left, channel, output);
    std::vector<Operand> dst = {output};
    if (passes_on) dst.push_back(b.slot(channel));
    b.copy(dst, b.slot(left, channel));
    if (passes_on) b.signal({right}, channel, output);
    b.credit(left, channel, output);
    if (arrived) arrived(place);
  }
}

void direct_allgather(Builder& b, const Group& group, int channel, const BlockOf& block,
                      const Arrived& arrived) {
  for (int hop = 1; hop < group.size(); ++hop) {
    const int place = group.wrap(group.me() - hop);
    take(b, block(place), group.at(place), channel);
    if (arrived) arrived(place);
  }
}

void disseminate(Builder& b, const Group& group, int channel) {
  for (int distance = 1; distance < group.size(); distance *= 2) {
    const int from = group.at(group.me() - distance);
    b.signal({group.at(group.me() + distance)}, channel);
    b.wait(from, channel);
    b.credit(from, channel);
  }
}

void broadcast_down(Builder& b, const TreePlace& place, int channel) {
  const Operand output = b.output();
  if (place.parent < 0) {
    // Before the put: in place this is a write of what the put may read late.
    b.copy({output}, b.input());
    if (!place.children.empty()) b.put(b.input(), place.children, channel);
    return;
  }
  b.wait(place.parent, channel, output);
  std::vector<Operand> dst = {output};
  if (!place.children.empty()) dst.push_back(b.slot(channel));
  b.copy(dst, b.slot(place.parent, channel));
  if (!place.children.empty()) b.signal(place.children, channel, output);
  b.credit(place.parent, channel, output);
}

}  // namespace weft

#include "algorithms/hops.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

Operand output(Builder& b, BlockRange at) { return b.output(at.first, at.count); }

// Where this rank has its part of the sum.
Operand part(Builder& b, BlockRange at, bool fresh) {
  return fresh ? b.input(at.first, at.count) : output(b, at);
}

// An empty range has no message: both ends know.
std::function<void(Builder&)> put(BlockRange at, bool fresh, std::vector<int> to, int channel) {
  if (at.count == 0 || to.empty()) return {};
  return [=](Builder& b) { b.put(part(b, at, fresh), to, channel); };
}

std::function<void(Builder&)> add(BlockRange at, bool fresh, int from, int channel, bool last) {
  if (at.count == 0) return {};
  return [=](Builder& b) {
    b.wait(from, channel, output(b, at));
    b.reduce({output(b, at)}, {part(b, at, fresh), b.slot(from, channel)},
             last ? Builder::kLast : Builder::kPartial);
    b.credit(from, channel, output(b, at));
  };
}

std::function<void(Builder&)> take(BlockRange at, int from, int channel) {
  if (at.count == 0) return {};
  return [=](Builder& b) {
    b.wait(from, channel, output(b, at));
    b.copy({output(b, at)}, b.slot(from, channel));
    b.credit(from, channel, output(b, at));
  };
}

// The places below the largest power of two, where this is one of them, and the rest.
struct Core {
  explicit Core(const Group& group)
      : size(power_of_two_in(group.size())), extra(group.size() - size), me(group.me()) {}

  bool inside() const { return me < size; }
  bool has_extra() const { return me < extra; }
  // The 2 * bit places that still share their blocks, lower and upper half: this place's, or its
  // peer's.
  BlockRange half(const Owned& owned, int bit, bool own) const {
    const int base = me / (2 * bit) * (2 * bit);
    const bool upper = ((me & bit) != 0) == own;
    return owned.by(upper ? base + bit : base, upper ? base + 2 * bit : base + bit);
  }

  int size, extra, me;
};

// The hop in which places beyond the power of two send their parts to the core.
Hop send_into_core(const Level& level) {
  const Core core(level.owned.group);
  const BlockRange all = level.owned.all();
  if (!core.inside())
    return {put(all, level.fresh, {level.owned.group.at(core.me - core.size)}, level.channel), {}};
  if (!core.has_extra()) return {};
  return {{},
          add(all, level.fresh, level.owned.group.at(core.me + core.size), level.channel, false)};
}

// The hop in which they are told the result.
Hop send_back(const Level& level) {
  const Core core(level.owned.group);
  const BlockRange all = level.owned.all();
  if (!core.inside())
    return {{}, take(all, level.owned.group.at(core.me - core.size), level.spread)};
  if (!core.has_extra()) return {};
  return {put(all, false, {level.owned.group.at(core.me + core.size)}, level.spread), {}};
}

// Whether the part is in the input still, when the bits are begun.
bool fresh_in_core(const Level& level) {
  return level.fresh && !Core(level.owned.group).has_extra();
}

std::vector<int> others_of(const Group& group) {
  std::vector<int> ranks;
  for (int hop = 1; hop < group.size(); ++hop) ranks.push_back(group.at(group.me() + hop));
  return ranks;
}

}  // namespace

void write_hops(Builder& b, const Hops& hops) {
  for (const Hop& hop : hops) {
    b.chunks([&] {
      if (hop.send) hop.send(b);
      b.lag(1);
      if (hop.receive) hop.receive(b);
    });
  }
}

Hops side_by_side(const std::vector<Hops>& phases) {
  std::size_t most = 0;
  for (const Hops& phase : phases) most = std::max(most, phase.size());
  Hops result(most);
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<Hop> hops;
    for (const Hops& phase : phases)
      if (i < phase.size()) hops.push_back(phase[i]);
    auto each = [&](auto Hop::* half) {
      return [hops, half](Builder& b) {
        for (const Hop& hop : hops)
          if (hop.*half) (hop.*half)(b);
      };
    };
    result[i] = {each(&Hop::send), each(&Hop::receive)};
  }
  return result;
}

Hops one_after_the_other(std::vector<Hops> phases) {
  Hops result;
  for (Hops& phase : phases)
    for (Hop& hop : phase) result.push_back(std::move(hop));
  return result;
}

Hops delayed(Hops hops, std::size_t by) {
  hops.insert(hops.begin(), by, Hop{});
  return hops;
}

Hops reduce_ring(const Level& level) {
  const Group& group = level.owned.group;
  const int me = group.me(), left = group.at(me - 1), right = group.at(me + 1);
  Hops hops;
  for (int hop = 1; hop < group.size(); ++hop) {
    const BlockRange away = level.owned.by(group.wrap(me - hop));
    const BlockRange here = level.owned.by(group.wrap(me - 1 - hop));
    hops.push_back(
        {put(away, level.fresh && hop == 1, {right}, level.channel),
         add(here, level.fresh, left, level.channel, level.last && hop + 1 == group.size())});
  }
  return hops;
}

Hops spread_ring(const Level& level) {
  const Group& group = level.owned.group;
  const int me = group.me(), left = group.at(me - 1), right = group.at(me + 1);
  Hops hops;
  for (int hop = 1; hop < group.size(); ++hop)
    hops.push_back({put(level.owned.by(group.wrap(me - hop + 1)), false, {right}, level.spread),
                    take(level.owned.by(group.wrap(me - hop)), left, level.spread)});
  return hops;
}

Hops reduce_halving(const Level& level) {
  const Core core(level.owned.group);
  Hops hops;
  if (core.extra > 0) hops.push_back(send_into_core(level));
  bool fresh = fresh_in_core(level);
  for (int bit = core.size / 2; bit > 0; bit /= 2) {
    Hop& hop = hops.emplace_back();
    if (!core.inside()) continue;
    const int peer = level.owned.group.at(core.me ^ bit);
    hop = {
        put(core.half(level.owned, bit, false), fresh, {peer}, level.channel),
        add(core.half(level.owned, bit, true), fresh, peer, level.channel, level.last && bit == 1)};
    fresh = false;
  }
  return hops;
}

Hops spread_doubling(const Level& level) {
  const Core core(level.owned.group);
  Hops hops;
  for (int bit = 1; bit < core.size; bit *= 2) {
    Hop& hop = hops.emplace_back();
    if (!core.inside()) continue;
    const int peer = level.owned.group.at(core.me ^ bit);
    hop = {put(core.half(level.owned, bit, true), false, {peer}, level.spread),
           take(core.half(level.owned, bit, false), peer, level.spread)};
  }
  if (core.extra > 0) hops.push_back(send_back(level));
  return hops;
}

Hops reduce_direct(const Level& level) {
  const Group group = level.owned.group;
  if (group.size() == 1) return {};
  const BlockRange own = level.owned.by(group.me());
  return {{[=](Builder& b) {
             for (int hop = 1; hop < group.size(); ++hop) {
               const int place = group.wrap(group.me() + hop);
               if (auto send =
                       put(level.owned.by(place), level.fresh, {group.at(place)}, level.channel))
                 send(b);
             }
           },
           [=](Builder& b) {
             if (own.count == 0) return;
             std::vector<Operand> terms;
             for (int place = 0; place < group.size(); ++place) {
               if (place == group.me()) {
                 terms.push_back(part(b, own, level.fresh));
                 continue;
               }
               b.wait(group.at(place), level.channel, output(b, own));
               terms.push_back(b.slot(group.at(place), level.channel));
             }
             b.reduce({output(b, own)}, terms, level.last ? Builder::kLast : Builder::kPartial);
             for (int rank : others_of(group)) b.credit(rank, level.channel, output(b, own));
           }}};
}

Hops spread_direct(const Level& level) {
  const Group group = level.owned.group;
  if (group.size() == 1) return {};
  return {{put(level.owned.by(group.me()), false, others_of(group), level.spread), [=](Builder& b) {
             for (int hop = 1; hop < group.size(); ++hop) {
               const int place = group.wrap(group.me() - hop);
               if (auto receive = take(level.owned.by(place), group.at(place), level.spread))
                 receive(b);
             }
           }}};
}

Hops exchange_doubling(const Level& level) {
  const Core core(level.owned.group);
  const BlockRange all = level.owned.all();
  Hops hops;
  if (core.extra > 0) hops.push_back(send_into_core(level));
  bool fresh = fresh_in_core(level);
  for (int bit = 1; bit < core.size; bit *= 2) {
    Hop& hop = hops.emplace_back();
    if (!core.inside()) continue;
    const int peer = level.owned.group.at(core.me ^ bit);
    // Copied, not put: the sum is about to be overwritten by the next.
    hop = {[=, channel = level.channel](Builder& b) {
             b.copy({b.slot(channel)}, part(b, all, fresh));
             b.signal({peer}, channel, output(b, all));
           },
           add(all, fresh, peer, level.channel, level.last && 2 * bit == core.size)};
    fresh = false;
  }
  if (core.extra > 0) hops.push_back(send_back(level));
  return hops;
}

}  // namespace weft

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

// The largest power of two of a group's places, which halve; the rest hand in to one of them. The
// places of this core are numbered from 0.
class Core {
 public:
  explicit Core(const Owned& owned)
      : owned_(owned), size_(power_of_two_in(owned.group.size())), me_(owned.group.me()) {}

  int size() const { return size_; }
  int extra() const { return owned_.group.size() - size_; }
  // Whether this place is of the core; whether it has a partner, which is not if it is, and is if
  // it is not.
  bool inside() const { return near() ? me_ >= 2 * extra() || me_ % 2 == 1 : me_ < size_; }
  bool has_partner() const { return me_ < (near() ? 2 * extra() : extra()) || !inside(); }
  int partner() const {
    if (near()) return owned_.group.at(me_ ^ 1);
    return owned_.group.at(inside() ? me_ + size_ : me_ - size_);
  }
  // Across one bit of the number.
  int peer(int bit) const { return owned_.group.at(place_of(number() ^ bit)); }
  // In the order of halving.
  std::vector<int> bits() const {
    std::vector<int> bits;
    for (int bit = 1; bit < size_; bit *= 2) bits.push_back(bit);
    if (!near()) std::reverse(bits.begin(), bits.end());
    return bits;
  }
  // The blocks that hop `hop` of the halving divides: this place's half, or its peer's.
  BlockRange half(std::size_t hop, bool own) const {
    const std::vector<int> order = bits();
    int first = 0, count = size_;
    for (std::size_t i = 0; i <= hop; ++i) {
      count /= 2;
      const bool upper = ((number() & order[i]) != 0) == (i < hop || own);
      if (upper) first += count;
    }
    return owned_.by(first, first + count);
  }

 private:
  bool near() const { return owned_.nearest_first; }
  int number() const {
    if (!near()) return me_;
    return me_ < 2 * extra() ? me_ / 2 : me_ - extra();
  }
  int place_of(int number) const {
    if (!near()) return number;
    return number < extra() ? 2 * number + 1 : number + extra();
  }

  const Owned& owned_;
  int size_, me_;
};

// The hop in which the places outside the core hand in their parts.
Hop send_into_core(const Level& level) {
  const Core core(level.owned);
  const BlockRange all = level.owned.all();
  if (!core.has_partner()) return {};
  if (!core.inside()) return {put(all, level.fresh, {core.partner()}, level.channel), {}};
  return {{}, add(all, level.fresh, core.partner(), level.channel, false)};
}

// The hop in which they are told the result.
Hop send_back(const Level& level) {
  const Core core(level.owned);
  const BlockRange all = level.owned.all();
  if (!core.has_partner()) return {};
  if (!core.inside()) return {{}, take(all, core.partner(), level.spread)};
  return {put(all, false, {core.partner()}, level.spread), {}};
}

// Whether the part is in the input still, when the bits are begun.
bool fresh_in_core(const Level& level) { return level.fresh && !Core(level.owned).has_partner(); }

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
  const Core core(level.owned);
  Hops hops;
  if (core.extra() > 0) hops.push_back(send_into_core(level));
  bool fresh = fresh_in_core(level);
  const std::vector<int> bits = core.bits();
  for (std::size_t i = 0; i < bits.size(); ++i) {
    Hop& hop = hops.emplace_back();
    if (!core.inside()) continue;
    const int peer = core.peer(bits[i]);
    hop = {put(core.half(i, false), fresh, {peer}, level.channel),
           add(core.half(i, true), fresh, peer, level.channel, level.last && i + 1 == bits.size())};
    fresh = false;
  }
  return hops;
}

Hops spread_doubling(const Level& level) {
  const Core core(level.owned);
  Hops hops;
  const std::vector<int> bits = core.bits();
  for (std::size_t i = bits.size(); i-- > 0;) {
    Hop& hop = hops.emplace_back();
    if (!core.inside()) continue;
    const int peer = core.peer(bits[i]);
    hop = {put(core.half(i, true), false, {peer}, level.spread),
           take(core.half(i, false), peer, level.spread)};
  }
  if (core.extra() > 0) hops.push_back(send_back(level));
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
  const Core core(level.owned);
  const BlockRange all = level.owned.all();
  Hops hops;
  if (core.extra() > 0) hops.push_back(send_into_core(level));
  bool fresh = fresh_in_core(level);
  for (int bit = 1; bit < core.size(); bit *= 2) {
    Hop& hop = hops.emplace_back();
    if (!core.inside()) continue;
    const int peer = core.peer(bit);
    // Copied, not put: the sum is about to be overwritten by the next.
    hop = {[=, channel = level.channel](Builder& b) {
             b.copy({b.slot(channel)}, part(b, all, fresh));
             b.signal({peer}, channel, output(b, all));
           },
           add(all, fresh, peer, level.channel, level.last && 2 * bit == core.size())};
    fresh = false;
  }
  if (core.extra() > 0) hops.push_back(send_back(level));
  return hops;
}

}  // namespace weft

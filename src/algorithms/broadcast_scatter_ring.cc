// Scatter down a binomial tree, then allgather around a ring.
//
// Four ranks, root 0, four blocks:
//   scatter   0 puts blocks 2, 3 to rank 2 and block 1 to rank 1; 2 puts block 3 to rank 3;
//   ring      hop 1: 0 -> 1 block 0, 1 -> 2 block 1, 2 -> 3 block 2;
//             hop 2: 0 -> 1 block 3, 1 -> 2 block 0, 2 -> 3 block 1;
//             hop 3: 0 -> 1 block 2, 2 -> 3 block 0.
// From another root the ranks count from it. Blocks that a rank has from the scatter (the root all,
// rank 2 block 3) do not come to it again around the ring.
//
// Steps log2 P + P - 1, bytes sent 2n(P-1)/P at the root, n(P-1)/P around the ring: for long
// messages half the bytes of a tree, without the long pipeline of broadcast/chain.
//
// Source: van de Geijn's algorithm: Barnett et al., "Interprocessor Collective Communication
// Library (InterCom)", SHPCC 1994; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on broadcast.
// The blocks left out: Zhou et al., "A Bandwidth-Saving Optimization for MPI Broadcast Collective
// Operation", ICPPW 2015.
#include <algorithm>
#include <bit>

#include "algorithms/hops.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// One rank's part. Places count from the root; the block of a place has its number.
class Member {
 public:
  Member(const Group& from_root, int down, int around)
      : all_(from_root), me_(from_root.me()), down_(down), around_(around) {}

  Hops scatter() const {
    Hops hops;
    for (int bit = half_of_all(); bit > 0; bit /= 2) {
      Hop& hop = hops.emplace_back();
      if (me_ % (2 * bit) == bit) hop.receive = take(subtree(me_), me_ - bit, down_);
      if (me_ % (2 * bit) == 0 && me_ + bit < all_.size())
        hop.send = put(subtree(me_ + bit), me_ + bit, down_, me_ == 0);
    }
    return hops;
  }

  Hops ring() const {
    Hops hops;
    for (int number = 1; number < all_.size(); ++number) {
      Hop& hop = hops.emplace_back();
      const int block = all_.wrap(me_ - number);
      if (number <= lacks(all_.wrap(me_ + 1)))
        hop.send = put({all_.wrap(block + 1), 1}, me_ + 1, around_, me_ == 0 && number == 1);
      if (number <= lacks(me_)) hop.receive = take({block, 1}, me_ - 1, around_);
    }
    return hops;
  }

 private:
  int half_of_all() const {
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(all_.size()))) / 2;
  }
  // The blocks of a place and of the places below it.
  BlockRange subtree(int place) const {
    return {place, place == 0 ? all_.size() : std::min(place & -place, all_.size() - place)};
  }
  int lacks(int place) const { return all_.size() - subtree(place).count; }

  // `first`: the root has not copied these blocks to its output yet. Before the put: in place
  // that writes what the put may read late.
  std::function<void(Builder&)> put(BlockRange at, int to, int channel, bool first) const {
    return [=, to = all_.at(to)](Builder& b) {
      const Operand part = b.output(at.first, at.count);
      if (first) b.copy({part}, b.input(at.first, at.count));
      b.put(part, {to}, channel);
    };
  }
  std::function<void(Builder&)> take(BlockRange at, int from, int channel) const {
    return [=, from = all_.at(from)](Builder& b) {
      const Operand part = b.output(at.first, at.count);
      b.wait(from, channel, part);
      b.copy({part}, b.slot(from, channel));
      b.credit(from, channel, part);
    };
  }

  const Group& all_;
  int me_, down_, around_;
};

void write_broadcast_scatter_ring(Builder& b) {
  const int root = b.param("root", 0), ranks = b.ranks();
  std::vector<int> from_root;
  for (int place = 0; place < ranks; ++place) from_root.push_back((root + place) % ranks);
  b.blocks(ranks, ranks);
  const int down = b.channel(4), around = b.channel(4);
  if (ranks == 1) return b.chunks([&] { b.copy({b.output()}, b.input()); });
  const Group all(b.rank(), from_root);
  const Member member(all, down, around);
  write_hops(b, member.scatter());
  write_hops(b, member.ring());
}

}  // namespace

Algorithm broadcast_scatter_ring() {
  return {"broadcast/scatter_ring", Collective::kBroadcast,
          "binomial scatter, ring allgather; log2 P+P-1 steps, 2n(P-1)/P bytes at the root; long "
          "messages (van de Geijn 1994)",
          write_broadcast_scatter_ring};
}

}  // namespace weft

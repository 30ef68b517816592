// Scatter and allgather: the root gives each other rank one block, which they share.
//
// Four ranks, root 0, three blocks; chunk by chunk:
//   trip t      rank 0 puts block 0 to rank 1, block 1 to rank 2, block 2 to rank 3; each copies
//               its block into its output and into one slot, which the two others are told of;
//   trip t + 1  rank 1 copies blocks 1 and 2 out of the slots of 2 and 3; the others alike.
// The root takes no part in the sharing: it has all of it.
//
// Steps 2, bytes sent n at the root, n(P-2)/(P-1) at the others: everyone's memory works, where
// in broadcast/one_shot all read the root's.
//
// Source: van de Geijn's algorithm: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts,
// "Interprocessor Collective Communication Library (InterCom)", SHPCC 1994; Thakur,
// Rabenseifner, Gropp, IJHPCA 19(1), 2005, on broadcast. There the scatter goes down a binomial
// tree and the allgather around a ring; here both are direct, which sends the same bytes.
#include <algorithm>

#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_root(Builder& b, const std::vector<int>& receivers, int scattered) {
  b.chunks([&] {
    if (receivers.empty()) b.copy({b.output()}, b.input());
    for (int i = 0; i < static_cast<int>(receivers.size()); ++i) {
      b.copy({b.output(i)}, b.input(i));
      b.put(b.input(i), {receivers[static_cast<std::size_t>(i)]}, scattered);
    }
  });
}

void write_receiver(Builder& b, int root, const Group& group, int scattered, int shared) {
  const Operand mine = b.output(group.me());
  const auto peers = others(group);
  b.chunks([&] {
    b.wait(root, scattered, mine);
    std::vector<Operand> dst = {mine};
    if (!peers.empty()) dst.push_back(b.slot(shared));
    b.copy(dst, b.slot(root, scattered));
    if (!peers.empty()) b.signal(peers, shared, mine);
    b.credit(root, scattered, mine);
    b.lag(1);
    direct_allgather(b, group, shared, [&](int place) { return b.output(place); });
  });
}

void write_broadcast_scatter_allgather(Builder& b) {
  const int root = b.param("root", 0), blocks = std::max(1, b.ranks() - 1);
  b.blocks(blocks, blocks);
  const int scattered = b.channel(3 * blocks), shared = b.channel(4);
  // From the root's right neighbour on, so that blocks lie the same way for every root.
  std::vector<int> receivers = others(Group(root, b.ranks()));
  if (b.rank() == root)
    write_root(b, receivers, scattered);
  else
    write_receiver(b, root, Group(b.rank(), receivers), scattered, shared);
}

}  // namespace

Algorithm broadcast_scatter_allgather() {
  return {"broadcast/scatter_allgather", Collective::kBroadcast,
          "the root scatters, the others share; 2 steps, n bytes; large messages (van de Geijn "
          "1994)",
          write_broadcast_scatter_allgather};
}

}  // namespace weft

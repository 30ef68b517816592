// Pipelined chain: each rank passes every chunk on to the next.
//
// Four ranks, root 0: 0 -> 1 -> 2 -> 3. While rank 2 passes chunk 0 on, rank 1 passes on chunk 1
// and rank 0 sends chunk 2. From root 2 the chain is 2 -> 3 -> 0 -> 1. With order = [0,2,1,3] it
// is 2 -> 1 -> 3 -> 0: the order closes to a ring, which is cut before the root.
//
// Steps P - 2 + chunks, bytes sent n a rank, to one neighbour only. It is the best for long
// messages over a network that is slower than memory.
//
// Parameter order: the ranks as the chain passes them, [] for 0 .. P-1.
//
// Source: Patarasuk, Yuan, Faraj, "Techniques for Pipelined Broadcast on Ethernet Switched
// Clusters", JPDC 68(6), 2008; Xin, Xie, Li, "Large Message Broadcast Design for Distributed
// Machine Learning", 2020 (pc).
#include <algorithm>
#include <numeric>

#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_broadcast_chain(Builder& b) {
  const int root = b.param("root", 0);
  const std::vector<int> order = b.param("order", std::vector<int>{}).list();
  const int ch = b.channel(4);
  const Group ring = order.empty() ? Group(b.rank(), b.ranks()) : Group(b.rank(), order);
  b.chunks([&] { broadcast_down(b, chain_place(ring, root), ch); });
}

std::string refuses_broadcast_chain(int ranks, const Params& params) {
  const Param natural(std::vector<int>{});
  const std::vector<int>& order = param_of(params, "order", natural).list();
  std::vector<int> sorted = order, all(static_cast<std::size_t>(ranks));
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (order.empty() || sorted == all) return {};
  return "order = " + to_text(order) + ": name each rank 0 .. " + std::to_string(ranks - 1) +
         " once";
}

}  // namespace

Algorithm broadcast_chain() {
  return {"broadcast/chain",
          Collective::kBroadcast,
          "pipelined chain, parameter order; P-2+chunks steps, n bytes; very large messages "
          "(Patarasuk 2008)",
          write_broadcast_chain,
          refuses_broadcast_chain,
          {},
          {"pc"}};
}

}  // namespace weft

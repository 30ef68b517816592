// Two-level barrier: within the node, across, within.
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}, led by 0 and 2. Rank 1 tells 0, rank 3 tells 2; 0
// and 2 tell each other; then 0 tells 1, and 2 tells 3.
//
// With k nodes: steps 2 + ceil(log2 k), of which ceil(log2 k) across; no payload. Across it is the
// dissemination of barrier/dissemination.
//
// Parameters node, place: which ranks share a node, as in nodes.h: any number a node, in any order.
//
// Source: Hensgen, Finkel, Manber, International Journal of Parallel Programming 17(1), 1988, among
// one leader a node as in Graham and Shipman, EuroPVM/MPI 2008.
#include "algorithms/nodes.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void hear(Builder& b, int from, int channel) {
  b.wait(from, channel);
  b.credit(from, channel);
}

void lead(Builder& b, const Group& node, const Group& leaders, int channel) {
  for (int mate : others(node)) hear(b, mate, channel);
  disseminate(b, leaders, channel);
  if (node.size() > 1) b.signal(others(node), channel);
}

void write_barrier_two_level(Builder& b) {
  const Nodes nodes = nodes_of(b);
  const int channel = b.channel(1);
  const Group node = nodes.around(b.rank());
  b.once([&] {
    if (node.me() > 0) {
      b.signal({node.at(0)}, channel);
      return hear(b, node.at(0), channel);
    }
    std::vector<int> leaders;
    for (int i = 0; i < nodes.count(); ++i) leaders.push_back(nodes.members(i).front());
    lead(b, node, Group(b.rank(), leaders), channel);
  });
}

}  // namespace

Algorithm barrier_two_level() {
  return {"barrier/two_level", Collective::kBarrier,
          "within nodes, dissemination among their leaders, within; 2 + ceil(log2 k) steps; "
          "parameters node, place; clusters (Hensgen 1988)",
          write_barrier_two_level, refusal_of_nodes};
}

}  // namespace weft

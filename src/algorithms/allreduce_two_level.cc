// Two-level allreduce: reduce_scatter(node) o allreduce(across) o allgather(node).
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}; across {0, 2} and {1, 3}. Blocks 0, 1 belong to
// the first rank of a node, 2, 3 to the second. Rank 0, chunk by chunk:
//   node     gets x1[1]; across sends x0[1] + x1[1] to rank 2, which owns block 1;
//   node     gets x1[0]; across gets x2[0] + x3[0];
//            y[0] = x0[0] + x1[0] + (x2[0] + x3[0]), sent to rank 2;
//   across   gets y[1] from rank 2; node: gets y[2], y[3] from rank 1, gives y[0], y[1].
// All ranks of a node are leaders of a share of the message each, and the phases overlap: what
// arrives from across is shared in the node at once. The composition is the body of `write`:
// the node's reduce-scatter is the contribution to the one across.
//
// With m ranks a node and k nodes: steps across 2(k-1), bytes across 2n(k-1)/(mk) a rank, bytes
// in the node 2n(m-1)/m a rank. Parameter node: m, default the largest divisor of P up to sqrt(P).
//
// Source: Nguyen, Wahib, Takano, "Hierarchical Distributed-Memory Multi-Leader MPI-Allreduce for
// Deep Learning Workloads", CANDARW 2018 (lr_lr); Bayatpour et al., "Scalable Reduction
// Collectives with Data Partitioning-based Multi-Leader Design", SC 2017.
#include <algorithm>

#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// `count` ranks, `stride` apart.
Group every(int rank, int first, int stride, int count) {
  std::vector<int> members;
  for (int i = 0; i < count; ++i) members.push_back(first + i * stride);
  return Group(rank, members);
}

void write(Builder& b) {
  const int size = b.param("node", node_size_for(b.ranks())), nodes = b.ranks() / size;
  const Group node = every(b.rank(), b.rank() / size * size, 1, size);
  const Group across = every(b.rank(), b.rank() % size, size, nodes);
  b.blocks(b.ranks(), b.ranks());
  const Wire inner{b.channel(3 * std::max(1, size - 1))};
  const Wire outer{size == 1 ? b.channel(4) : -1, b.channel(4, true)};
  const int passed = b.channel(4), shared = b.channel(4);

  const auto block = [&](int local, int n) { return local * nodes + n; };
  const auto output = [&](int n) { return b.output(block(node.me(), n)); };
  const auto reduce_in_node = [&](int n) {
    return direct_reduce_scatter(b, node, inner,
                                 [&](int local) { return own(b.input(block(local, n))); });
  };
  const auto share_in_node = [&](int n) {
    if (size == 1) return;
    b.put(output(n), others(node), shared);
    direct_allgather(b, node, shared, [&](int local) { return b.output(block(local, n)); });
  };

  b.chunks([&] {
    Sum sum = ring_reduce_scatter(b, across, outer, reduce_in_node);
    store(b, output(across.me()), sum, next_in(across), passed);
    share_in_node(across.me());
    ring_allgather(b, across, passed, output, share_in_node);
  });
}

std::string refuses(int ranks, const Params& params) {
  const int node = param_of(params, "node", 1);
  if (node >= 1 && ranks % node == 0) return {};
  return "node = " + std::to_string(node) + " does not divide " + std::to_string(ranks) + " ranks";
}

}  // namespace

Algorithm allreduce_two_level() {
  return {"allreduce/two_level",
          Collective::kAllreduce,
          "reduce-scatter in the node, ring across nodes for each local rank, allgather in the "
          "node; parameter node = ranks a node; clusters (Nguyen 2018)",
          write,
          refuses,
          kConsistent};
}

}  // namespace weft

// Two-level allreduce: a reduce-scatter of two levels, then an allgather of two levels.
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}, a block each. Rank 0, chunk by chunk:
//   trip t      puts x0[1] to rank 1, whose block it is, and x0[3] to rank 1, which adds up for
//               rank 3; sends x0[2] + x1[2] to rank 2;
//   trip t + 1  y[0] = (x0[0] + x1[0]) + the sum that rank 2 has sent; puts it to 1 and 2;
//   trip t + 2  copies y[1] from rank 1; gets y[2] from rank 2, puts it to rank 1; gets y[3] there.
// All ranks of a node lead, for one rank of each other node; levels overlap chunk by chunk.
//
// With m ranks a node and k nodes: steps 4; bytes across 2n(k-1)/P a rank, in the node 2n(m-1)/m.
// Nodes of different sizes own equal shares: across 2n(k-1)/k a node, the least that the busiest
// link can carry (Patarasuk, Yuan, JPDC 69(2), 2009).
// Sums of nodes cross in float32 under f16 and bf16 (wide = 1): rounded once, and three halves of
// the bytes; with wide = 0 they are rounded once a node besides. With wire = 1 what crosses does so
// in bf16 under f32, in half the bytes: sums of nodes, or a lone rank's contribution, rounded once,
// and results, rounded once more, the owner's own too, so that all ranks have the same bits. In a
// node contributions stay as they are.
//
// Parameters
//   node, place   which ranks share a node, as in nodes.h: any number a node, in any order
//   wide          1: sums cross in the accumulator type; 0: in the call's type
//   wire          1: sums and results cross in the type on the wire, bf16 for f32; 0: they do not
//
// Source: Nguyen, Wahib, Takano, "Hierarchical Distributed-Memory Multi-Leader MPI-Allreduce for
// Deep Learning Workloads", CANDARW 2018; Bayatpour et al., "Scalable Reduction Collectives with
// Data Partitioning-based Multi-Leader Design", SC 2017; with the direct exchange of Thakur,
// Rabenseifner, Gropp, IJHPCA 19(1), 2005, in place of rings.
#include "algorithms/levels.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allreduce_two_level(Builder& b) {
  const Nodes nodes = nodes_of(b);
  const Shares shares = Shares::equal_for_nodes(nodes);
  b.blocks(shares.blocks(), shares.blocks());
  const Width crossing = crossing_width(b, nodes);
  const ReduceLevels sums(b, shares, crossing);
  const GatherLevels results(b, shares,
                             crossing == Width::kNarrow ? Width::kNarrow : Width::kPlain);
  b.chunks([&] {
    sums.send_contributions(b);
    b.lag(1);
    for (int share : shares.of(b.rank())) {
      const BlockRange own = shares.range(share);
      store(b, b.output(own.first, own.count), sums.collect(b, share), results.readers(share),
            results.channel());
    }
    b.lag(2);
    results.gather(b);
  });
}

}  // namespace

Algorithm allreduce_two_level() {
  return {"allreduce/two_level",
          Collective::kAllreduce,
          "sums of nodes cross to each block's owner, results cross back once; 4 steps; parameters "
          "node, place, wide, wire; clusters (Nguyen 2018)",
          write_allreduce_two_level,
          refusal_of_nodes,
          kConsistent};
}

}  // namespace weft

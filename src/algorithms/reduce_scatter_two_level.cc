// Two-level reduce-scatter: a node adds up before anything crosses, each of its ranks for one rank
// of each other node.
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}. Rank 0 is its node's deputy for rank 2, chunk by
// chunk:
//   trip t      puts x0[1] to rank 1, whose block it is, and x0[3] to rank 1, the deputy for rank
//   3;
//               sends x0[2] + x1[2] to rank 2;
//   trip t + 1  output = (x0[0] + x1[0]) + the sum that rank 2, deputy for 0, has sent.
// While sums of one chunk cross, the next chunk is added up in the node.
//
// With m ranks a node and k nodes: steps 2, bytes sent of n a block: (k-1)n across, k(m-1)n in the
// node. Sums of nodes cross in float32 under f16 and bf16 (wide = 1), so that the result is rounded
// once; with wide = 0 they cross in half the bytes and are rounded on the way, once a node. With
// wire = 1 what crosses does so in bf16 under f32, rounded once; own contributions and sums of the
// own node are added to it as they are.
//
// Parameters
//   node, place   which ranks share a node, as in nodes.h: any number a node, in any order
//   wide          1: sums cross in the accumulator type; 0: in the call's type
//   wire          1: sums cross in the type on the wire, bf16 for f32; 0: they do not
//
// Source: the direct exchange of Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on each of the
// levels of Nguyen, Wahib, Takano, CANDARW 2018.
#include "algorithms/levels.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_reduce_scatter_two_level(Builder& b) {
  const Nodes nodes = nodes_of(b);
  const ReduceLevels levels(b, Shares::block_each(nodes), crossing_width(b, nodes));
  b.chunks([&] {
    levels.send_contributions(b);
    b.lag(1);
    store(b, b.output(), levels.collect(b, b.rank()));
  });
}

}  // namespace

Algorithm reduce_scatter_two_level() {
  return {"reduce_scatter/two_level", Collective::kReduceScatter,
          "sums of nodes cross, one to each rank; 2 steps, (k-1)n bytes across; parameters node, "
          "place, wide, wire; clusters (Thakur 2005, Nguyen 2018)",
          write_reduce_scatter_two_level, refusal_of_nodes};
}

}  // namespace weft

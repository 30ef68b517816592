// Two-level allgather: a block crosses to each node once, to one of its ranks, which shares it
// there.
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}. Rank 2 takes for its node what rank 0 has, rank 3
// what rank 1 has. Rank 0, chunk by chunk:
//   trip t      puts its block to rank 1, its neighbour, and to rank 2;
//   trip t + 1  copies the block of rank 1; gets that of rank 2, puts it to rank 1; gets that of
//               rank 3 from there.
// While blocks of one chunk cross, those of the chunk before are shared in the node.
//
// With m ranks a node and k nodes: steps 2, bytes sent of n a rank: (k-1)n across, k(m-1)n in the
// node, where n are written once and read by all.
//
// Parameters node, place: which ranks share a node, as in nodes.h: any number a node, in any order.
//
// Source: Traeff, "Efficient Allgather for Regular SMP-Clusters", EuroPVM/MPI 2006, with every
// rank a leader as in Nguyen, Wahib, Takano, CANDARW 2018.
#include "algorithms/levels.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allgather_two_level(Builder& b) {
  const GatherLevels levels(b, Shares::block_each(nodes_of(b)));
  b.chunks([&] {
    b.copy({b.output(b.rank())}, b.input());
    if (const auto to = levels.readers(b.rank()); !to.empty())
      b.put(b.input(), to, levels.channel());
    b.lag(1);
    levels.gather(b);
  });
}

}  // namespace

Algorithm allgather_two_level() {
  return {"allgather/two_level", Collective::kAllgather,
          "a block crosses to each node once and is shared there; 2 steps, (k-1)n bytes across; "
          "parameters node, place; clusters (Traeff 2006, Nguyen 2018)",
          write_allgather_two_level, refusal_of_nodes};
}

}  // namespace weft

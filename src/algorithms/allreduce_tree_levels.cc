// Allreduce in two levels. Its partial sums are subtrees of the one tree over ranks, so it gives
// the bits of every other reproducible plan. Still it sends a node's sum across, not its ranks'
// inputs.
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}, a block each; block 0 belongs to rank 0, 1 to rank
// 2, 2 to rank 1, 3 to rank 3. Rank 0, chunk by chunk:
//   trip t      gets x1[1], sends x0[1] + x1[1] to rank 2; gets x1[2], sends x0[2] + x1[2] to its
//               neighbour, rank 1, who adds up x[0] for it and x[3] for rank 3;
//   trip t + 1  y[0] = (x0[0] + x1[0]) + (x2[0] + x3[0]) from rank 1's message and rank 2's, put to
//               rank 2 and to rank 1;
//   trip t + 2  gets y[1] from rank 2 and puts it to rank 1; gets y[2] and y[3] from there.
// Sums of nodes travel in the accumulator type and are leaves of one reduction. That is why a rank
// has its neighbour add up its own node's part: it could keep its own only rounded, in the output.
//
// With m ranks a node and k nodes: steps 4; bytes across 2n(k-1)/P a rank, of f16 and bf16 three
// halves of that; bytes in the node 2n(m-1)/m + n/P. Parameter node: m, a power of two (else a
// node is no subtree) that divides the ranks; default the largest up to their square root.
//
// Source: the direct exchange of Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on each of the
// levels of Nguyen, Wahib, Takano, CANDARW 2018.
#include <algorithm>
#include <numeric>

#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

int default_node(int ranks) {
  int node = 2;
  while (4 * node * node <= ranks && ranks % (2 * node) == 0) node *= 2;
  return node;
}

struct Levels {
  Group node, across;
  int nodes() const { return across.size(); }
  int home() const { return across.me(); }
  // Blocks of a place in the node, one for each node, lie side by side.
  int block(int local, int n) const { return node.wrap(local) * nodes() + n; }
  int owner(int local, int n) const { return across.at(n) - node.me() + node.wrap(local); }
  // Whose block of node n the ranks at `local` add up in their node: their own, or their
  // neighbour's where it is the node's own.
  int added_by(int local, int n) const { return n == home() ? local - 1 : local; }
};

Levels levels_of(int rank, int ranks, int node) {
  std::vector<int> inside, across;
  for (int i = 0; i < node; ++i) inside.push_back(rank / node * node + i);
  for (int first = rank % node; first < ranks; first += node) across.push_back(first);
  return {Group(rank, inside), Group(rank, across)};
}

// Adds up what this rank has to of its node's sums, and sends each to the block's owner.
void sum_in_node(Builder& b, const Levels& levels, const Wire& inner, const Wire& sums) {
  for (int hop = 1; hop <= levels.nodes(); ++hop) {
    const int n = levels.across.wrap(levels.home() + hop);
    const Sum sum = direct_reduce_scatter(b, levels.node, inner, [&](int local) {
      return own(b.input(levels.block(levels.added_by(local, n), n)));
    });
    send(b, sum, levels.owner(levels.added_by(levels.node.me(), n), n), sums);
    release(b, sum);
  }
}

// The sum of the own block, of the nodes' in order.
Sum collect_sums(Builder& b, const Levels& levels, const Wire& sums) {
  Sum sum{b.output(levels.block(levels.node.me(), levels.home())), {}, {}, Builder::kTree};
  for (int n = 0; n < levels.nodes(); ++n) {
    const bool neighbour = n == levels.home();
    const int from = neighbour ? levels.node.at(levels.node.me() + 1) : levels.across.at(n);
    receive(b, sum, from, sums.sums);
  }
  return sum;
}

void write_allreduce_tree_levels(Builder& b) {
  const int size = b.param("node", default_node(b.ranks()));
  const Levels levels = levels_of(b.rank(), b.ranks(), size);
  b.blocks(b.ranks(), b.ranks());
  const Wire inner{b.channel(3 * (size - 1))},
      sums{-1, b.channel(3 * levels.nodes(), Width::kWide)};
  const int passed = b.channel(4), shared = b.channel(4);
  const auto output = [&](int n) { return b.output(levels.block(levels.node.me(), n)); };
  const auto share_in_node = [&](int n) {
    b.put(output(n), others(levels.node), shared);
    direct_allgather(b, levels.node, shared,
                     [&](int local) { return b.output(levels.block(local, n)); });
  };
  b.chunks([&] {
    sum_in_node(b, levels, inner, sums);
    b.lag(1);
    store(b, output(levels.home()), collect_sums(b, levels, sums), others(levels.across), passed);
    share_in_node(levels.home());
    b.lag(2);
    direct_allgather(b, levels.across, passed, output, share_in_node);
  });
}

std::string refuses_allreduce_tree_levels(int ranks, const Params& params) {
  const int node = param_of(params, "node", default_node(ranks));
  const std::string given = "node = " + std::to_string(node);
  if (node < 2 || !is_power_of_two(node))
    return given + ": nodes of so many are no subtrees of the tree over ranks: give a power of two";
  if (ranks % node == 0) return {};
  return given + " does not divide " + std::to_string(ranks) + " ranks";
}

}  // namespace

Algorithm allreduce_tree_levels() {
  return {
      "allreduce/tree_levels",
      Collective::kAllreduce,
      "one node's sum across instead of its ranks' inputs, added up in the one tree over ranks; "
      "4 steps; parameter node, a power of two; reproducible sums on clusters (Nguyen 2018)",
      write_allreduce_tree_levels,
      refuses_allreduce_tree_levels,
      kReproducible};
}

}  // namespace weft

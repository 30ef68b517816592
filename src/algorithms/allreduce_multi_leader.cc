// Multi-leader allreduce: reduce_scatter(node) o allreduce(across) o allgather(node), each level
// with an algorithm of its own.
//
// Four ranks, node = 2, leaders = 2, both levels rings: blocks 0, 1 are the share of the first
// rank of a node, 2, 3 that of the second. Nodes are {0, 1} and {2, 3}. Rank 0:
//   inner    sends x0[2-3] to rank 1, gets x1[0-1] and adds it to its own;
//   outer    sends its sum of block 1 to rank 2, gets that of block 0: now y[0] is complete;
//            sends y[0] to rank 2, gets y[1];
//   inner    sends y[0-1] to rank 1, gets y[2-3].
// With leaders = 1 rank 0 alone talks to rank 2, and of more than that each takes an equal share.
//
// Parameters
//   node, place   which ranks share a node, as in nodes.h: any number a node, in any order
//   leaders   ranks of a node that talk to other nodes, evenly spaced; default: all of the largest.
//             A smaller node has its ranks lead several shares
//   inner     ring, rabenseifner (halving and doubling; of one leader a binomial tree) or direct
//   outer     the same, or recursive_doubling. Halving sends the longest messages to the nearest
//             node by number. So they stay under one switch if its nodes have consecutive ranks
//   pieces    1: one level after the other, as the source has it. More: the message is cut into so
//             many pieces, each a hop behind the one before, hop beside hop. So nodes reduce and
//             spread while others are exchanged across, and the latency of a hop is waited for
//             once, not once a piece
// Any number of ranks. lr_lr is inner = outer = ring; lr_rab is inner = ring, outer = rabenseifner.
//
// With m ranks a node, L leaders, k nodes: bytes across 2n(k-1)/(Lk) a leader (recursive_doubling:
// n log2(k)/L), bytes in the node 2n(m-1)/m a rank if L = m; steps those of the two levels, and
// one more a piece. Partial sums are kept in the output: f16 and bf16 are rounded once a hop.
//
// Source: Nguyen, Wahib, Takano, "Hierarchical Distributed-Memory Multi-Leader MPI-Allreduce for
// Deep Learning Workloads", CANDARW 2018; Bayatpour et al., "Scalable Reduction Collectives with
// Data Partitioning-based Multi-Leader Design", SC 2017.
#include <algorithm>
#include <numeric>

#include "algorithms/hops.h"
#include "algorithms/nodes.h"
#include "algorithms/params.h"
#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

struct Levels {
  Nodes nodes;
  int leaders, pieces;
  std::string inner, outer;

  // How many of a node's ranks may lead: recursive halving leaves some out.
  int able(int size) const { return inner == "rabenseifner" ? power_of_two_in(size) : size; }
  // The place in its node of who leads a share there. Spaced, so that few leaders do not share
  // what connects neighbours.
  int leader(int which, int share) const { return share * able(nodes.size(which)) / leaders; }
  // Blocks that a share is cut into.
  int cut() const {
    if (outer == "recursive_doubling") return 1;
    return outer == "rabenseifner" ? power_of_two_in(nodes.count()) : nodes.count();
  }
  int first_block(int piece, int share) const { return (piece * leaders + share) * cut(); }
  // Shares that one rank leads at most, of any node.
  int most_led() const {
    const int least = able(nodes.least());
    return (leaders + least - 1) / least;
  }
};

// Where nodes of one switch have consecutive ranks, the longest messages across stay under it.
constexpr bool kNearestNodeFirst = true;

struct Channels {
  int reduce_in, spread_in, reduce_out, spread_out;
};

Hops reduce(const std::string& algorithm, const Level& level) {
  if (algorithm == "ring") return reduce_ring(level);
  if (algorithm == "rabenseifner") return reduce_halving(level);
  return reduce_direct(level);
}

Hops spread(const std::string& algorithm, const Level& level) {
  if (algorithm == "ring") return spread_ring(level);
  if (algorithm == "rabenseifner") return spread_doubling(level);
  return spread_direct(level);
}

// One rank's part in the levels.
class Member {
 public:
  Member(int rank, const Levels& levels, const Channels& channels)
      : rank_(rank), which_(levels.nodes.of(rank)), levels_(levels), channels_(channels) {}

  Hops reduce_in_node(int piece) const { return reduce(levels_.inner, inside(piece)); }
  Hops spread_in_node(int piece) const { return spread(levels_.inner, inside(piece)); }

  // All shares that this rank leads, side by side. A rank that leads nothing has as many hops
  // without steps, so that the ranks of a node meet in the same hops.
  Hops across(int piece) const {
    const int local = levels_.nodes.local(rank_);
    std::vector<Hops> shares;
    for (int share = 0; share < levels_.leaders; ++share)
      if (levels_.leader(which_, share) == local)
        shares.push_back(allreduce(outside(piece, share)));
    if (!shares.empty()) return side_by_side(shares);
    const Member leader(leader_of(which_, 0), levels_, channels_);
    return Hops(leader.across(piece).size());
  }

 private:
  Hops allreduce(const Level& level) const {
    if (levels_.outer == "recursive_doubling") return exchange_doubling(level);
    return one_after_the_other({reduce(levels_.outer, level), spread(levels_.outer, level)});
  }

  int leader_of(int which, int share) const {
    return levels_.nodes.members(which)[static_cast<std::size_t>(levels_.leader(which, share))];
  }

  Level inside(int piece) const {
    const std::vector<int>& members = levels_.nodes.members(which_);
    std::vector<int> bounds(members.size() + 1, 0);
    for (int share = 0; share < levels_.leaders; ++share)
      bounds[static_cast<std::size_t>(levels_.leader(which_, share)) + 1] += levels_.cut();
    std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
    return {{Group(rank_, members), levels_.first_block(piece, 0), bounds},
            channels_.reduce_in,
            channels_.spread_in,
            true,
            levels_.nodes.count() == 1};
  }

  Level outside(int piece, int share) const {
    std::vector<int> members, bounds = {0};
    for (int which = 0; which < levels_.nodes.count(); ++which) {
      members.push_back(leader_of(which, share));
      bounds.push_back(std::min(which + 1, levels_.cut()));
    }
    return {{Group(rank_, members), levels_.first_block(piece, share), bounds, kNearestNodeFirst},
            channels_.reduce_out,
            channels_.spread_out,
            levels_.nodes.size(which_) == 1,
            true};
  }

  int rank_, which_;
  const Levels& levels_;
  const Channels& channels_;
};

// Slots for one phase, whose hops may be those of several pieces at once: two trips of each.
int slots_for(const std::string& algorithm, int size, const Hops& hops, const Levels& levels) {
  const int first = algorithm == "direct" ? 3 * std::max(1, size - 1) : 4;
  const int at_once = std::min(levels.pieces, static_cast<int>(hops.size()));
  return first + 2 * std::max(0, at_once - 1);
}

Channels channels_of(Builder& b, const Levels& levels) {
  // No rank has more hops than those of the largest node.
  const Channels none{};
  const Member member(levels.nodes.members(levels.nodes.largest_node()).front(), levels, none);
  const Hops in = member.reduce_in_node(0), over = member.across(0), out = member.spread_in_node(0);
  const int led = levels.most_led();
  return {b.channel(slots_for(levels.inner, levels.nodes.largest(), in, levels)),
          b.channel(slots_for("spread", 0, out, levels)),
          b.channel(led * slots_for(levels.outer, levels.nodes.count(), over, levels)),
          b.channel(led * slots_for("spread", 0, over, levels))};
}

void write_allreduce_multi_leader(Builder& b) {
  Levels levels{nodes_of(b), 0, 0, "", ""};
  levels.leaders = b.param("leaders", levels.nodes.largest());
  levels.inner = b.param("inner", "ring").word();
  levels.outer = b.param("outer", "ring").word();
  levels.pieces = b.param("pieces", 1);
  const int blocks = levels.first_block(levels.pieces, 0);
  b.blocks(blocks, blocks);
  if (b.ranks() == 1)
    return b.chunks([&] { store(b, b.output(0, blocks), own(b.input(0, blocks))); });
  const Channels channels = channels_of(b, levels);
  const Member member(b.rank(), levels, channels);
  std::vector<Hops> all;
  for (int piece = 0; piece < levels.pieces; ++piece)
    all.push_back(delayed(one_after_the_other({member.reduce_in_node(piece), member.across(piece),
                                               member.spread_in_node(piece)}),
                          static_cast<std::size_t>(piece)));
  write_hops(b, side_by_side(all));
}

constexpr int kMostPieces = 64;  // each is a program of its own; what pays is below 20
const std::vector<std::string> kInner = {"ring", "rabenseifner", "direct"};
const std::vector<std::string> kOuter = {"ring", "rabenseifner", "direct", "recursive_doubling"};

std::string refuses_allreduce_multi_leader(int ranks, const Params& params) {
  if (auto why = refusal_of_nodes(ranks, params); !why.empty()) return why;
  const int most = nodes_of(ranks, params).largest();
  const int leaders = param_of(params, "leaders", most);
  if (leaders < 1 || leaders > most)
    return "leaders = " + std::to_string(leaders) + ": give 1 .. " + std::to_string(most);
  if (auto why = refusal_below(params, "pieces", 1); !why.empty()) return why;
  if (const int pieces = param_of(params, "pieces", 1); pieces > kMostPieces)
    return "pieces = " + std::to_string(pieces) + ": give 1 .. " + std::to_string(kMostPieces);
  const auto why = refusal_unless(params, "inner", kInner);
  return why.empty() ? refusal_unless(params, "outer", kOuter) : why;
}

}  // namespace

Algorithm allreduce_multi_leader() {
  return {"allreduce/multi_leader",
          Collective::kAllreduce,
          "reduce-scatter in the node, allreduce across for each leader's share, allgather in the "
          "node; parameters node, place, leaders, inner, outer, pieces; clusters (Nguyen 2018)",
          write_allreduce_multi_leader,
          refuses_allreduce_multi_leader,
          kConsistent,
          {{"lr_lr", {{"inner", "ring"}, {"outer", "ring"}}},
           {"lr_rab", {{"inner", "ring"}, {"outer", "rabenseifner"}}}}};
}

}  // namespace weft

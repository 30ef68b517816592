// The closed formulas for allreduces over nodes and their leaders (Nguyen 2018).
#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/phases.h"
#include "plan/price_formulas.h"

namespace weft {
namespace {

using namespace prices;

// n nodes of k ranks, node switches around one switch. Rank r lies on node r / k, or on r mod n.
struct Cluster {
  int nodes, size;
  double inner_latency = 0.5e-6, inner_bandwidth = 50e9;  // rank to rank
  double outer_latency = 3e-6, outer_bandwidth = 12.5e9;
  bool full_duplex = true;

  int ranks() const { return nodes * size; }

  Topology topology(bool cyclic) const {
    Topology t;
    t.name = "cluster";
    t.vertices.push_back({"switch", -1, -1, 0, 0});
    const auto join = [&](int a, int b, double latency, double bandwidth) {
      Topology::Link link;
      link.a = a, link.b = b, link.latency = latency, link.bandwidth = bandwidth;
      link.full_duplex = full_duplex;
      t.links.push_back(link);
    };
    for (int node = 0; node < nodes; ++node) {
      t.vertices.push_back({"node" + std::to_string(node), node, -1, 0, 0});
      join(node + 1, 0, (outer_latency - inner_latency) / 2, outer_bandwidth);
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      const int node = cyclic ? rank % nodes : rank / size;
      t.ranks.push_back(static_cast<int>(t.vertices.size()));
      t.vertices.push_back({"r" + std::to_string(rank), node, -1, 0, 0});
      join(t.ranks.back(), node + 1, inner_latency / 2, inner_bandwidth);
    }
    return t;
  }
};

// A ring over all ranks, of which s flows share a node's link to the network.
TEST(Price, Ring) {
  for (auto [nodes, size] : {std::pair{2, 2}, {4, 4}, {16, 4}, {8, 8}})
    for (std::size_t m : {4 * kMiB, 32 * kMiB})
      for (bool full : {true, false}) {
        Cluster cluster{nodes, size};
        cluster.full_duplex = full;
        const int p = cluster.ranks(), s = full ? size : 2 * size;
        const double formula =
            2 * (p - 1) * (cluster.outer_latency + bytes_of(m) * s / p / cluster.outer_bandwidth);
        expect_within_1_percent(whole("allreduce/ring", p, m, cluster.topology(true)).seconds,
                                formula, called("lr", p, m));
      }
}

TEST(Price, Rabenseifner) {
  for (int n : {2, 4, 16, 64})
    for (std::size_t m : {64 * std::size_t{1024}, 32 * kMiB}) {
      const double latency = 3e-6;
      const double formula =
          2 * std::log2(n) * latency + 2 * (1 - 1.0 / n) * bytes_of(m) / kBandwidth;
      expect_within_1_percent(whole("allreduce/rabenseifner", n, m, star(n, 0, latency)).seconds,
                              formula, called("rab", n, m));
    }
}

Group every(int rank, int first, int stride, int count) {
  std::vector<int> members;
  for (int i = 0; i < count; ++i) members.push_back(first + i * stride);
  return Group(rank, members);
}

// Ring reduce-scatter and allgather of phases 2 and 3 of lr_lr, on the blocks of one local rank.
void rings_across(Builder& b, const Group& across, int first, const Wire& wire) {
  b.chunks([&] {
    Sum sum = ring_reduce_scatter(b, across, wire,
                                  [&](int place) { return own(b.output(first + place)); });
    store(b, b.output(first + across.me()), sum, next_in(across), wire.plain);
    ring_allgather(b, across, wire.plain, [&](int place) { return b.output(first + place); });
  });
}

// The same by recursive halving and doubling, for powers of two.
void halving_across(Builder& b, const Group& across, int first, int channel) {
  const int me = across.me(), n = across.size();
  int low = first, count = n;
  const auto swap = [&](int peer, int give, int take, int blocks, bool adds) {
    const Operand mine = b.output(take, blocks);
    b.chunks([&] {
      b.put(b.output(give, blocks), {across.at(peer)}, channel);
      b.lag(1);
      b.wait(across.at(peer), channel, mine);
      if (adds)
        b.reduce({mine}, {mine, b.slot(across.at(peer), channel)}, Builder::kPartial);
      else
        b.copy({mine}, b.slot(across.at(peer), channel));
      b.credit(across.at(peer), channel, mine);
    });
  };
  for (int bit = n / 2; bit > 0; bit /= 2) {
    count /= 2;
    const bool upper = me & bit;
    swap(me ^ bit, upper ? low : low + count, upper ? low + count : low, count, true);
    if (upper) low += count;
  }
  for (int bit = 1; bit < n; bit *= 2) {
    const int theirs = me & bit ? low - count : low + count;
    swap(me ^ bit, low, theirs, count, false);
    low = std::min(low, theirs);
    count *= 2;
  }
}

// reduce_scatter(node) o allreduce(across) o allgather(node), one phase after the other.
Plan multi_leader(const Cluster& cluster, bool rings) {
  return written(Collective::kAllreduce, cluster.ranks(), [&](Builder& b) {
    const int size = cluster.size, nodes = cluster.nodes, local = b.rank() % size;
    const Group node = every(b.rank(), b.rank() - local, 1, size);
    const Group across = every(b.rank(), local, size, nodes);
    b.blocks(b.ranks(), b.ranks());
    const Wire inner{b.channel(4), b.channel(4, Width::kWide)},
        outer{b.channel(4), b.channel(4, Width::kWide)};
    const auto share = [&](int place) { return b.output(place * nodes, nodes); };
    b.chunks([&] {
      Sum sum = ring_reduce_scatter(b, node, inner,
                                    [&](int place) { return own(b.input(place * nodes, nodes)); });
      b.reduce({share(local)}, sum.terms, Builder::kPartial);
      release(b, sum);
    });
    if (rings)
      rings_across(b, across, local * nodes, outer);
    else
      halving_across(b, across, local * nodes, outer.plain);
    b.chunks([&] {
      b.put(share(local), {node.at(local + 1)}, inner.plain);
      ring_allgather(b, node, inner.plain, share);
    });
  });
}

TEST(Price, MultiLeader) {
  for (auto [nodes, size] : {std::pair{2, 2}, {8, 4}, {64, 4}})
    for (std::size_t m : {4 * kMiB, 32 * kMiB})
      for (bool full : {true, false}) {
        Cluster c{nodes, size};
        c.full_duplex = full;
        const Topology t = c.topology(false);
        const double sharing = full ? 1 : 2, n = nodes, k = size, bytes = bytes_of(m);
        const double inside =
            2 * (k - 1) * (c.inner_latency + sharing * bytes / (k * c.inner_bandwidth));
        const double s = sharing * k;
        const double lr = 2 * (n - 1) * (c.outer_latency + bytes * s / (n * k * c.outer_bandwidth));
        const double rab = 2 * std::log2(n) * c.outer_latency +
                           2 * (1 - 1 / n) * bytes * s / (k * c.outer_bandwidth);
        const std::string what = full ? " full duplex" : " half duplex";
        expect_within_1_percent(priced(multi_leader(c, true), m, t), inside + lr,
                                called("lr_lr", c.ranks(), m) + what);
        expect_within_1_percent(priced(multi_leader(c, false), m, t), inside + rab,
                                called("lr_rab", c.ranks(), m) + what);
      }
}

// Ranks under leaf switches, whose cables to one root are `cable` bytes a second.
Topology leaves(int count, int each, double cable) {
  Topology t;
  t.name = "leaves";
  t.vertices.push_back({"root", -1, -1, 0, 0});
  const auto join = [&](int upper, double bandwidth) {
    Topology::Link link;
    link.a = static_cast<int>(t.vertices.size()) - 1, link.b = upper, link.bandwidth = bandwidth;
    t.links.push_back(link);
  };
  for (int leaf = 0; leaf < count; ++leaf) {
    const int at = static_cast<int>(t.vertices.size());
    t.vertices.push_back({"leaf" + std::to_string(leaf), -1, -1, 0, 0});
    join(0, cable);
    for (int i = 0; i < each; ++i) {
      const int rank = static_cast<int>(t.ranks.size());
      t.ranks.push_back(static_cast<int>(t.vertices.size()));
      t.vertices.push_back({"r" + std::to_string(rank), rank, -1, 0, 0});
      join(at, kBandwidth);
    }
  }
  return t;
}

// Halving across nodes sends its longest messages to the nearest node, and only the shortest over
// uplinks that carry less than the nodes under them send.
TEST(Price, LeadersSendTheirLongestMessagesToTheNearestNode) {
  const Params params = {{"node", 1}, {"outer", "rabenseifner"}};
  const double m = bytes_of(32 * kMiB), cable = kBandwidth / 2;
  // A half and a quarter under the leaf, an eighth and a sixteenth of four ranks each on its cable.
  const double even = 2 * (m * (1. / 2 + 1. / 4) / kBandwidth + 4 * m * (1. / 8 + 1. / 16) / cable);
  expect_within_1_percent(
      whole("allreduce/multi_leader", 16, 32 * kMiB, leaves(4, 4, cable), params).seconds, even,
      called("lr_rab", 16, 32 * kMiB));
  // Twelve ranks: 0, 2, 4, 6 hand in to the next rank, so the first two leaves halve with two each.
  // These are later than the third. Their last halving and first doubling share its cable: once m.
  const double odd = m * (2 * (1 + 1. / 2) / kBandwidth + (1. / 2 + 1 + 1. / 2 + 1. / 2) / cable);
  expect_within_1_percent(
      whole("allreduce/multi_leader", 12, 32 * kMiB, leaves(3, 4, cable), params).seconds, odd,
      called("lr_rab", 12, 32 * kMiB));
}

}  // namespace
}  // namespace weft

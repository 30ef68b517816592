// weft/price.h: the closed formulas of the literature, in the models that they state.
//
// n ranks, M bytes, bandwidth B, start-up time ts (of a port) or latency a (of a link).
#include "weft/price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/phases.h"
#include "weft/builder.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr double kStart = 0.4e-6, kBandwidth = 12e9;
constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kWhole = std::size_t{1} << 40;  // a chunk that holds every block

// Ranks around one switch. `overhead` of a message on the rank's link.
Topology star(int ranks, double overhead, double latency = 0) {
  Topology star;
  star.name = "star";
  star.vertices.push_back({"switch", -1, -1, 0, 0});
  for (int rank = 0; rank < ranks; ++rank) {
    star.vertices.push_back({"r" + std::to_string(rank), rank, -1, 0, 0});
    star.ranks.push_back(rank + 1);
    Topology::Link link;
    link.a = rank + 1, link.b = 0;
    link.latency = latency / 2;
    link.bandwidth = kBandwidth;
    link.overhead = overhead;
    star.links.push_back(link);
  }
  return star;
}

Topology one_port(int ranks) {
  Topology topology = star(ranks, kStart);
  topology.one_port = true;
  return topology;
}

// A rank's messages to several others go at once, each with the whole bandwidth.
Topology multi_port(int ranks) {
  Topology topology = star(ranks, kStart);
  for (Topology::Link& link : topology.links) link.shared = false;
  return topology;
}

double bytes_of(std::size_t count) { return static_cast<double>(count); }

// One message of M bytes.
double hop(std::size_t m) { return kStart + bytes_of(m) / kBandwidth; }

void expect_within_1_percent(double priced, double formula, const std::string& what) {
  EXPECT_NEAR(priced / formula, 1, 0.01) << what << ": " << priced << " s, by formula " << formula;
}

Price whole(const char* algorithm, int n, std::size_t m, const Topology& t, Params params = {}) {
  PriceOptions options;
  options.chunk = kWhole;
  return price(algorithm, n, m, t, params, options);
}

const std::vector<int> kRanks = {2, 3, 4, 8, 16, 64};
const std::vector<std::size_t> kBytes = {1 << 10, 1 << 18, 64 * kMiB};

std::string called(const char* what, int n, std::size_t m) {
  return std::string(what) + ", " + std::to_string(n) + " ranks, " + std::to_string(m) + " bytes";
}

TEST(Price, DirectAndChainBroadcast) {
  for (int n : kRanks)
    for (std::size_t m : kBytes) {
      const double formula = (n - 1) * hop(m);
      for (const char* name : {"broadcast/one_shot", "broadcast/chain"})
        expect_within_1_percent(whole(name, n, m, one_port(n)).seconds, formula,
                                called(name, n, m));
    }
}

TEST(Price, KnomialBroadcast) {
  for (int n : kRanks)
    for (std::size_t m : kBytes)
      for (int k : {2, 4, 8}) {
        const double levels = std::ceil(std::log(n) / std::log(k) - 1e-9);
        const std::string what = called("k-nomial", n, m) + ", k = " + std::to_string(k);
        const auto seconds = [&](const Topology& t) {
          return whole("broadcast/knomial", n, m, t, {{"radix", k}}).seconds;
        };
        // Some rank has to be so deep: of three ranks none is two levels down.
        if (n != 3) expect_within_1_percent(seconds(multi_port(n)), levels * hop(m), what);
        // With one port a parent's k-1 sends a level come one after the other.
        if (k == 2) expect_within_1_percent(seconds(one_port(n)), levels * hop(m), what);
        EXPECT_LE(seconds(one_port(n)), (k - 1) * levels * hop(m) * 1.01) << what;
      }
}

TEST(Price, PipelinedChainAndItsBestChunk) {
  for (int n : kRanks)
    for (std::size_t m : {kMiB, 64 * kMiB}) {
      const auto seconds = [&](std::size_t chunk) {
        PriceOptions options;
        options.chunk = chunk;
        return price("broadcast/chain", n, m, one_port(n), {}, options).seconds;
      };
      for (std::size_t c = 1 << 14; c <= m; c *= 4)
        expect_within_1_percent(seconds(c), (bytes_of(m / c) + n - 2) * hop(c),
                                called("chunks", n, m) + " of " + std::to_string(c));
      if (n == 2) continue;
      const double best = std::sqrt(bytes_of(m) * kBandwidth * kStart / (n - 2));
      // Whole chunks near the best: the minimum is flat.
      const auto chunks = static_cast<std::size_t>(std::lround(bytes_of(m) / best));
      const std::size_t chunk = (m / chunks + 63) / 64 * 64;
      const double root = std::sqrt(bytes_of(m) / kBandwidth) + std::sqrt((n - 2) * kStart);
      expect_within_1_percent(seconds(chunk), root * root, called("best chunk", n, m));
      EXPECT_GT(seconds(4 * chunk), seconds(chunk)) << n;
      EXPECT_GT(seconds(chunk / 4), seconds(chunk)) << n;
    }
}

// Plans of the documents that differ from Weft's own: written here, priced as any other.
Plan written(Collective collective, int ranks, const std::function<void(Builder&)>& write) {
  Plan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    Params params;
    if (collective == Collective::kBroadcast) params["root"] = 0;
    Builder b(rank, {"test/plan", collective, ranks, params, 1, 1, {}});
    write(b);
    plan.programs.push_back(b.finish());
    plan.shape = b.shape();
  }
  return plan;
}

double priced(const Plan& plan, std::size_t bytes, const Topology& t) {
  PriceOptions options;
  options.chunk = kWhole;
  return price(plan, bytes, t, options).seconds;
}

// Down a binomial tree by halves, then around a ring.
void scatter_ring(Builder& b) {
  const int n = b.ranks(), me = b.rank();
  b.blocks(n, n);
  const int down = b.channel(8), around = b.channel(4);
  const auto part = [&](int first, int blocks) {
    return me == 0 ? b.input(first, blocks) : b.output(first, blocks);
  };
  b.chunks([&] {
    int below = me == 0 ? n : me & -me;  // ranks of the own subtree
    if (me > 0) {
      b.wait(me - below, down, b.output(me, below));
      b.copy({b.output(me, below)}, b.slot(me - below, down));
      b.credit(me - below, down, b.output(me, below));
    }
    while (below /= 2) b.put(part(me + below, below), {me + below}, down);
  });
  const Group all(me, n);
  b.chunks([&] {
    b.put(part(me, 1), {all.at(me + 1)}, around);
    ring_allgather(b, all, around, [&](int place) { return b.output(place); });
  });
}

TEST(Price, ScatterAndRingAllgather) {
  for (int n : {2, 4, 8, 16, 64})
    for (std::size_t m : kBytes) {
      const Plan plan = written(Collective::kBroadcast, n, scatter_ring);
      const double formula =
          (std::log2(n) + n - 1) * kStart + 2.0 * (n - 1) / n * bytes_of(m) / kBandwidth;
      expect_within_1_percent(priced(plan, m, one_port(n)), formula, called("scatter", n, m));
    }
}

// The root copies everything to the host, then it goes down the tree from there; the others have it
// on the host where it arrives.
void staged_knomial(Builder& b) {
  const int ch = b.channel(8), n = b.ranks(), me = b.rank();
  int below = me == 0 ? n : me & -me;  // ranks of the own subtree
  if (me == 0) b.once([&] { b.copy({b.output()}, b.input()); });
  b.chunks([&] {
    if (me > 0) {
      b.wait(me - below, ch, b.output());
      b.copy({b.output()}, b.slot(me - below, ch));
      b.credit(me - below, ch, b.output());
    }
    std::vector<int> children;
    while (below /= 2) children.push_back(me + below);
    if (!children.empty()) put_everywhere(b, b.output(), children, ch);
  });
}

TEST(Price, StagedKnomial) {
  const double pcie = 8e9;
  for (int n : {2, 4, 8, 16, 64})
    for (std::size_t m : kBytes) {
      Topology t = one_port(n);
      t.copy = pcie;
      const double formula = bytes_of(m) / pcie + std::log2(n) * hop(m);
      PriceOptions options;
      options.chunk = kWhole;
      options.in_place = false;
      options.symmetric = true;
      const Plan plan = written(Collective::kBroadcast, n, staged_knomial);
      expect_within_1_percent(price(plan, m, t, options).seconds, formula, called("staged", n, m));
    }
}

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
    const Wire inner{b.channel(4), b.channel(4, true)}, outer{b.channel(4), b.channel(4, true)};
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

// Two messages over one link: the second comes when the first is half through.
TEST(Price, WhatOverlapsShares) {
  const double m = 12e6, alone = m / kBandwidth;  // 1 ms
  Topology t = star(3, 0);
  t.reduce = 2 * kBandwidth;
  // Ranks 1 and 2 send to 0; rank 2 first works for half of a millisecond.
  const Plan plan = written(Collective::kReduce, 3, [](Builder& b) {
    const int ch = b.channel(2);
    b.chunks([&] {
      if (b.rank() == 2) {
        b.reduce({b.slot(ch)}, {b.input()}, Builder::kPartial);
        b.signal({0}, ch, b.input());
      } else if (b.rank() == 1) {
        b.put(b.input(), {0}, ch);
      } else {
        for (int from : {1, 2}) {
          b.wait(from, ch, b.output());
          b.credit(from, ch, b.output());
        }
      }
    });
  });
  // Rank 1's takes 0.5 ms alone, then 1 ms of sharing; rank 2's other half 0.5 ms alone.
  EXPECT_NEAR(priced(plan, 12000000, t), 2 * alone, 1e-9);
  t.links[0].shared = false;
  EXPECT_NEAR(priced(plan, 12000000, t), 1.5 * alone, 1e-9);
}

TEST(Price, RatesAndSteps) {
  Topology t = star(2, 0, 1e-6);
  const double before = whole("allreduce/ring", 2, kMiB, t).seconds;
  t.step = 1e-7;
  const double with_steps = whole("allreduce/ring", 2, kMiB, t).seconds;
  EXPECT_GT(with_steps, before + 5e-7);
  t.step = 0;
  t.reduce = 10e9;
  // Both ranks add two halves of 1 MiB in float32, once.
  EXPECT_NEAR(whole("allreduce/ring", 2, kMiB, t).seconds - before, kMiB / 10e9, 1e-9);
  for (Topology::Link& link : t.links) link.memory = true;
  // The payload is fetched by the reduction, and by the copy of the result.
  EXPECT_NEAR(whole("allreduce/ring", 2, kMiB, t).seconds,
              2e-6 + (kMiB / 2) * (1 / 10e9 + 1 / 10e9 + 1 / kBandwidth) + 1e-6, 2e-6);
}

TEST(Price, FoldedProgramsArePricedAsThoseWrittenOut) {
  // More steps than are written out.
  for (auto [name, n] : {std::pair{"allreduce/ring", 370},
                         {"allreduce/two_level", 440},
                         {"broadcast/scatter_allgather", 600}}) {
    const Topology t = star(n, 0, 1e-6);
    PriceOptions options;
    options.chunk = 64 << 10;
    // Blocks without a remainder: chunks are alike on all ranks.
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1) * 64;
    const Price folded = price(name, n, bytes, t, {}, options);
    const Price written = price(make_plan(name, n), bytes, t, options);
    EXPECT_NEAR(folded.seconds / written.seconds, 1, 1e-6) << name;
    EXPECT_EQ(folded.messages, written.messages) << name;
  }
}

TEST(Price, FourThousandRanks) {
  const int n = 4096;
  const Price found = whole("allreduce/rabenseifner", n, 32 * kMiB, star(n, 0, 3e-6));
  const double formula =
      2 * std::log2(n) * 3e-6 + 2 * (1 - 1.0 / n) * bytes_of(32 * kMiB) / kBandwidth;
  expect_within_1_percent(found.seconds, formula, "rab of 4096");
  EXPECT_EQ(found.messages, 2 * 12 * n);
  EXPECT_EQ(found.depth, 24);
}

TEST(Price, WhatCannotBePriced) {
  const Topology t = star(4, 0);
  EXPECT_THROW(price("allreduce/ring", 5, 64, t), InvalidArgument);
  EXPECT_THROW(price("allreduce/ringg", 4, 64, t), InvalidArgument);
  EXPECT_THROW(price("allreduce/ring", 4, 64, t, {{"radix", 2}}), InvalidArgument);
  Topology apart = t;
  apart.links.pop_back();
  EXPECT_THROW(price("allreduce/ring", 4, 64, apart), InvalidArgument);
  const Plan stuck = written(Collective::kBarrier, 2, [](Builder& b) {
    const int ch = b.channel(1);
    b.once([&] { b.wait(1 - b.rank(), ch); });
  });
  EXPECT_THROW(priced(stuck, 0, t), InvalidPlan);
}

}  // namespace
}  // namespace weft

// The closed formulas for broadcasts (Xin 2020), in the model that they state.
#include <cmath>
#include <cstddef>
#include <vector>

#include "algorithms/phases.h"
#include "plan/price_formulas.h"

namespace weft {
namespace {

using namespace prices;

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

TEST(Price, ScatterAndRingAllgather) {
  for (int n : {2, 4, 8, 16, 64})
    for (std::size_t m : kBytes) {
      const double formula =
          (std::log2(n) + n - 1) * kStart + 2.0 * (n - 1) / n * bytes_of(m) / kBandwidth;
      expect_within_1_percent(whole("broadcast/scatter_ring", n, m, one_port(n)).seconds, formula,
                              called("scatter", n, m));
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

}  // namespace
}  // namespace weft

// What the tests of prices have in common: topologies of the literature's models, and prices in
// them.
//
// n ranks, M bytes, bandwidth B, start-up time ts (of a port) or latency a (of a link).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/builder.h"
#include "weft/collective.h"
#include "weft/price.h"

namespace weft::prices {

inline constexpr double kStart = 0.4e-6, kBandwidth = 12e9;
inline constexpr std::size_t kMiB = 1 << 20;
inline constexpr std::size_t kWhole = std::size_t{1} << 40;  // a chunk that holds every block

// Ranks around one switch. `overhead` of a message on the rank's link.
inline Topology star(int ranks, double overhead, double latency = 0) {
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

inline Topology one_port(int ranks) {
  Topology topology = star(ranks, kStart);
  topology.one_port = true;
  return topology;
}

// A rank's messages to several others go at once, each with the whole bandwidth.
inline Topology multi_port(int ranks) {
  Topology topology = star(ranks, kStart);
  for (Topology::Link& link : topology.links) link.shared = false;
  return topology;
}

inline double bytes_of(std::size_t count) { return static_cast<double>(count); }

// One message of M bytes.
inline double hop(std::size_t m) { return kStart + bytes_of(m) / kBandwidth; }

inline void expect_within_1_percent(double priced, double formula, const std::string& what) {
  EXPECT_NEAR(priced / formula, 1, 0.01) << what << ": " << priced << " s, by formula " << formula;
}

inline Price whole(const char* algorithm, int n, std::size_t m, const Topology& t,
                   Params params = {}) {
  PriceOptions options;
  options.chunk = kWhole;
  return price(algorithm, n, m, t, params, options);
}

inline const std::vector<int> kRanks = {2, 3, 4, 8, 16, 64};
inline const std::vector<std::size_t> kBytes = {1 << 10, 1 << 18, 64 * kMiB};

inline std::string called(const char* what, int n, std::size_t m) {
  return std::string(what) + ", " + std::to_string(n) + " ranks, " + std::to_string(m) + " bytes";
}

// Plans of the documents that differ from Weft's own: written here, priced as any other.
inline Plan written(Collective collective, int ranks, const std::function<void(Builder&)>& write) {
  Plan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    Params params;
    if (traits_of(collective).rooted()) params["root"] = 0;
    Builder b(rank, {"test/plan", collective, ranks, params, 1, 1, {}});
    write(b);
    plan.programs.push_back(b.finish());
    plan.shape = b.shape();
  }
  return plan;
}

inline double priced(const Plan& plan, std::size_t bytes, const Topology& t) {
  PriceOptions options;
  options.chunk = kWhole;
  return price(plan, bytes, t, options).seconds;
}

}  // namespace weft::prices

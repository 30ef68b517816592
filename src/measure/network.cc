#include "measure/network.h"

#include <algorithm>

#include "measure/latency.h"
#include "measure/timing.h"

namespace weft::measuring {
namespace {

constexpr int kTripsOverNetwork = 20;          // of a message, there and back, between two looks
constexpr std::size_t kPieces = 32;            // in a row
constexpr double kSent = kPieces * kFarPiece;  // bytes

// The ranks of a node and their counterparts in the next.
struct Pairs {
  const std::vector<int>&from, &to;
  std::size_t count() const { return std::min(from.size(), to.size()); }
};

// Seconds until all pieces have been taken, a latency each way taken off.
double send_pieces(Probe& probe, int to, double latency) {
  const double taken = timed([&] {
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      probe.await_taken(to, kUnderWay - 1);
      probe.send(to, piece % kUnderWay * kFarPiece, kFarPiece);
    }
    probe.await_taken(to, 0);
  });
  return std::max(taken - 2 * latency, taken / 2);
}

void take_pieces(Probe& probe, int from) {
  for (std::size_t piece = 0; piece < kPieces; ++piece) probe.take(from);
}

// Bytes a second of the first `count` pairs together.
double rate(Probe& probe, const Pairs& pairs, std::size_t count, double latency, int times) {
  double mine = 0;
  probe.communicator().barrier();
  for (std::size_t i = 0; i < count; ++i) {
    if (probe.rank() == pairs.to[i])
      for (int time = -1; time < times; ++time) take_pieces(probe, pairs.from[i]);
    if (probe.rank() != pairs.from[i]) continue;
    std::vector<double> seconds;
    for (int time = -1; time < times; ++time) {  // once to warm up
      const double taken = send_pieces(probe, pairs.to[i], latency);
      if (time >= 0) seconds.push_back(taken);
    }
    mine = kSent / median(seconds);
  }
  return probe.sum(mine);
}

}  // namespace

Members members_of(const std::vector<int>& place) {
  Members members;
  for (std::size_t rank = 0; rank < place.size(); ++rank) {
    const auto node = static_cast<std::size_t>(place[rank]);
    if (node >= members.size()) members.resize(node + 1);
    members[node].push_back(static_cast<int>(rank));
  }
  return members;
}

Network measure_network(Probe& probe, const Members& nodes, int times) {
  Network seen;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Pairs pairs{nodes[node], nodes[(node + 1) % nodes.size()]};
    const int a = pairs.from[0], b = pairs.to[0];
    probe.communicator().barrier();
    const bool concerned = probe.rank() == a || probe.rank() == b;
    const double mine = concerned ? latency(probe, a, b, kTripsOverNetwork, times) / 2 : 0;
    seen.latency.push_back(probe.sum(mine));
    seen.alone.push_back(rate(probe, pairs, 1, seen.latency.back(), times));
    seen.together.push_back(pairs.count() == 1
                                ? seen.alone.back()
                                : rate(probe, pairs, pairs.count(), seen.latency.back(), times));
  }
  return seen;
}

}  // namespace weft::measuring

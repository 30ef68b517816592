#include "measure/node.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/layout.h"
#include "measure/latency.h"
#include "measure/loop.h"
#include "measure/probe.h"
#include "measure/small_calls.h"
#include "measure/timing.h"

namespace weft::measuring {
namespace {

constexpr int kTrips = 200;  // of a message, there and back, between two looks at the clock
// Bytes of a rank's buffers: the least; the factor of each step; and the size that most processors'
// caches hold. Its rates are used where sizes are not distinguished.
constexpr std::size_t kLeast = std::size_t{128} << 10, kGrowth = 2, kCached = std::size_t{2} << 20;

// Seconds a byte: of a piece's time it takes the latency to reach its first.
double fetch_alone(const LoopTimes& seen, double latency) {
  return std::max(seen.fetch / 2, seen.fetch - latency / kPiece);
}

Topology::Link link(Probe& probe, int a, int b, int times) {
  double seconds = 0, fetch = 0;
  if (const int me = probe.rank(); me == a || me == b) {
    const int peer = me == a ? b : a;
    seconds = latency(probe, a, b, kTrips, times) / 2;
    fetch = fetch_alone(measure_loop(probe, peer, peer, kLeast, 4 * times), 2 * seconds) / 2;
  }
  std::vector<double> both{seconds, fetch};
  probe.communicator().allreduce(both.data(), both.data(), 2, DType::kF64, ReduceOp::kSum);
  return {.a = a, .b = b, .latency = both[0], .bandwidth = 1 / both[1], .memory = true};
}

// The rates of all ranks at once, in a ring, with this many bytes of buffers.
Topology::Rates rates(Probe& probe, Routes& routes, std::size_t bytes, int times) {
  const int size = probe.size(), me = probe.rank();
  probe.communicator().barrier();
  const int next = (me + 1) % size, prev = (me + size - 1) % size;
  const LoopTimes seen = measure_loop(probe, next, prev, bytes, times);
  const double fetch = fetch_alone(seen, routes.latency(prev, me));
  std::vector<double> mean{seen.copy, seen.reduce, fetch, seen.store};
  probe.communicator().allreduce(mean.data(), mean.data(), mean.size(), DType::kF64,
                                 ReduceOp::kAvg);
  return {static_cast<double>(bytes), 1 / mean[0], 1 / mean[1], size > 1 ? 1 / mean[2] : 0,
          1 / mean[3]};
}

}  // namespace

Topology measure_node(Communicator& communicator, const MeasureOptions& options) {
  const int size = communicator.size();
  Topology made;
  made.name = "measured";
  Probe probe(communicator, kSlots * kPiece);
  const std::vector<std::string> sockets =
      probe.exchange(std::to_string(domain_of(read_layout().sockets, cpu_limits().processors)));
  for (int rank = 0; rank < size; ++rank) {
    made.vertices.push_back(
        {"rank" + std::to_string(rank), 0, std::stoi(sockets[static_cast<std::size_t>(rank)])});
    made.ranks.push_back(rank);
  }
  for (int a = 0; a < size; ++a)
    for (int b = a + 1; b < size; ++b) made.links.push_back(link(probe, a, b, options.times));
  Routes routes(made);
  for (std::size_t bytes = kLeast; bytes <= options.largest; bytes *= kGrowth) {
    const auto rounds = static_cast<int>(options.times * kCached / bytes);
    made.by_size.push_back(rates(probe, routes, bytes, std::clamp(rounds, 5, options.times)));
    if (bytes == kCached)
      made.copy = made.by_size.back().copy, made.reduce = made.by_size.back().reduce;
  }
  fit_small_calls(probe, made, 20 * options.times);
  return made;
}

}  // namespace weft::measuring

// Dissemination barrier: in step k rank r tells r + 2^k, and hears from r - 2^k.
//
// Four ranks: rank 0 tells 1, hears from 3; tells 2, hears from 2. Rank 2 sends after it has heard
// from 1. So 0 has heard from all, directly or not.
//
// Steps ceil(log2 P), no payload.
//
// Source: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization", International
// Journal of Parallel Programming 17(1), 1988.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_barrier_dissemination(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const int ch = b.channel(1);
  b.once([&] { disseminate(b, all, ch); });
}

}  // namespace

Algorithm barrier_dissemination() {
  return {"barrier/dissemination", Collective::kBarrier,
          "tells the rank 2^k further in step k; ceil(log2 P) steps (Hensgen 1988)",
          write_barrier_dissemination};
}

}  // namespace weft

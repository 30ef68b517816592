// Two-shot allreduce: a direct reduce-scatter, then a direct allgather, in one pipeline.
//
// Four ranks, a block each; rank 1, chunk by chunk:
//   trip t      puts chunk t of x1[2] to rank 2, of x1[3] to rank 3, of x1[0] to rank 0;
//   trip t + 1  waits for x0[1], x2[1], x3[1]; y[1] = (x0[1] + x1[1]) + (x2[1] + x3[1]) goes into
//               the output, and is put to all others;
//   trip t + 2  copies y[2], y[3], y[0] out of their slots.
// The lags leave a chunk's messages a whole trip to arrive: nobody waits in step with others. With
// parameter ahead (params.h) they are so many trips, and twice as many.
//
// Steps 2, bytes sent 2n(P-1)/P, bytes reduced n(P-1)/P: both least possible. Added up as a tree
// over ranks, by one rank a block. In place is safe: x[p] is overwritten only with y[p], which rank
// p sent after it had read x[p].
//
// Source: reduce-scatter with direct exchange and allgather, Thakur, Rabenseifner, Gropp,
// "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005.
#include <algorithm>

#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allreduce_two_shot(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const auto peers = others(all);
  const auto mine = [&](int rank) { return own(b.input(rank)); };
  b.blocks(b.ranks(), b.ranks());
  const int ahead = b.param(kAhead, 1);
  // A trip sends one message to each peer, and those before may still be in use.
  const Wire wire{b.channel((ahead + 2) * std::max(1, all.size() - 1))};
  const int result = b.channel(ahead + 3);
  b.chunks([&] {
    int channel = send_contributions(b, all, wire, mine);
    b.lag(ahead);
    store(b, b.output(b.rank()), collect(b, all, channel, mine), peers, result);
    b.lag(2 * ahead);
    direct_allgather(b, all, result, [&](int rank) { return b.output(rank); });
  });
}

}  // namespace

Algorithm allreduce_two_shot() {
  return {"allreduce/two_shot",
          Collective::kAllreduce,
          "direct reduce-scatter and allgather; 2 steps, 2n(P-1)/P bytes; medium and large "
          "messages in a node (Thakur 2005)",
          write_allreduce_two_shot,
          refusal_of_ahead,
          kReproducible};
}

}  // namespace weft

// Direct allreduce on symmetric memory: each rank reads its block of all inputs and writes the
// sum into all outputs. No slot, one copy.
//
// Four ranks, a block each; rank 1:
//   tells the others that it has entered, waits until they have;
//   chunk by chunk: y[1] = (x0[1] + x1[1]) + (x2[1] + x3[1]) from the four inputs into the own
//   output, then puts y[1] into the outputs of 2, 3, 0; waits for theirs as late as it may, since
//   it needs nothing of them.
// Rank 1 may leave when the three last signals are here: rank p put y[p] after it had read its
// block of x1, the only part of x1 that it reads. In place nobody overwrites what another
// reads: block p of every rank is read and written by rank p alone.
//
// Steps 2, bytes read n(P-1)/P, bytes written n(P-1)/P, nothing copied. Added up as a
// tree over ranks.
//
// Source: the two-phase all-pairs allreduce of MSCCL++ (Shah et al., "MSCCL++: Rethinking GPU
// Communication Abstractions for Cutting-edge AI Applications", 2025), there between GPUs.
#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void enter(Builder& b, const std::vector<int>& peers, int ch) {
  b.once([&] {
    b.signal(peers, ch);
    for (int peer : peers) b.wait(peer, ch);
    for (int peer : peers) b.credit(peer, ch);
  });
}

void write_allreduce_direct(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const auto peers = others(all);
  const Operand mine = b.output(b.rank());
  b.blocks(b.ranks(), b.ranks());
  const int ch = b.channel(kMostAhead + 2);
  std::vector<Operand> inputs;
  for (int rank = 0; rank < b.ranks(); ++rank) inputs.push_back(b.input_of(rank, b.rank()));

  if (!peers.empty()) enter(b, peers, ch);
  b.chunks([&] {
    b.reduce({mine}, inputs, Builder::kLast, Builder::kTree);
    if (!peers.empty()) put_everywhere(b, mine, peers, ch);
    b.lag(kMostAhead);
    for (int peer : peers) {
      b.wait(peer, ch, b.output(peer));
      b.copy({b.output(peer)}, b.slot(peer, ch));
      b.credit(peer, ch, b.output(peer));
    }
  });
}

}  // namespace

Algorithm allreduce_direct() {
  return {"allreduce/direct",
          Collective::kAllreduce,
          "reads and writes the peers' buffers; 2 steps, 2n(P-1)/P bytes, no copy; symmetric "
          "memory only (MSCCL++ 2025)",
          write_allreduce_direct,
          {},
          kReproducible};
}

}  // namespace weft

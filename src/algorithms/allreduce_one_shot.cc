// One-shot allreduce: everyone tells everyone, everyone adds up.
//
// Four ranks, any one of them:
//   copy the input into the own slot, signal the other three;
//   wait for theirs; output = (x0 + x1) + (x2 + x3); credit them.
//
// Steps 1, bytes sent n (written once, read by all), bytes read (P-1)n. All ranks add as the
// same tree over ranks, so all get the same bits. The copy into the slot, rather than a put, frees
// the input at once: in place it is overwritten while slower peers still read.
//
// Source: the small-message algorithm of shared-memory collectives, e.g. Graham and Shipman,
// "MPI Support for Multi-core Architectures: Optimized Shared Memory Collectives", EuroPVM/MPI
// 2008. "One-shot" and "two-shot" are the words of the GPU libraries (TensorRT-LLM, MSCCL++).
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_allreduce_one_shot(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const auto peers = others(all);
  const int ch = b.channel(2);
  b.chunks([&] {
    Sum sum{b.input(), {}, {}, Builder::kTree};
    if (!peers.empty()) {
      b.copy({b.slot(ch)}, b.input());
      b.signal(peers, ch, b.input());
    }
    for (int rank = 0; rank < b.ranks(); ++rank) {
      if (rank == b.rank())
        sum.terms.push_back(b.input());
      else
        receive(b, sum, rank, ch);
    }
    store(b, b.output(), sum);
  });
}

}  // namespace

Algorithm allreduce_one_shot() {
  return {"allreduce/one_shot",
          Collective::kAllreduce,
          "everyone tells everyone; 1 step, (P-1)n bytes read; small messages (Graham 2008)",
          write_allreduce_one_shot,
          {},
          kReproducible};
}

}  // namespace weft

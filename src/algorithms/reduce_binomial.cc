// Reduce up a binomial tree, pipelined in chunks.
//
// Four ranks, root 0: 1 sends x1 to 0, 3 sends x3 to 2; 2 sends x2 + x3 to 0, which writes
// output = x0 + x1 + (x2 + x3). From another root the ranks count from it. Partial sums travel
// in wide slots: f16 and bf16 are rounded once, at the root.
//
// Steps log2 P, bytes sent n, read n log2 P at the root.
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on reduce.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_reduce_binomial(Builder& b) {
  const int root = b.param("root", 0), ranks = b.ranks();
  const Wire wire{b.channel(4), ranks > 2 ? b.channel(4, Width::kWide) : -1};
  const Group all(b.rank(), ranks);
  const int number = all.wrap(b.rank() - root);
  b.chunks([&] {
    Sum sum = own(b.input());
    int bit = 1;
    for (; bit < ranks && (number & bit) == 0; bit <<= 1) {
      const int child = number + bit;
      if (child >= ranks) continue;
      // A child without children sends its input as it is.
      const bool leaf = bit == 1 || child + 1 == ranks;
      receive(b, sum, all.at(child + root), leaf ? wire.plain : wire.sums);
    }
    if (number == 0) return store(b, b.output(), sum);
    send(b, sum, all.at(number - bit + root), wire);
    release(b, sum);
  });
}

}  // namespace

Algorithm reduce_binomial() {
  return {"reduce/binomial", Collective::kReduce,
          "binomial tree; log2 P steps, n bytes; many ranks (Thakur 2005)", write_reduce_binomial};
}

}  // namespace weft

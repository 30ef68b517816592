// Pairwise all-to-all: P-1 rounds, in each of which every rank sends to one and receives from one.
//
// Four ranks, round i: rank r exchanges with r xor i: 0-1 and 2-3, then 0-2 and 1-3, then 0-3
// and 1-2. Three ranks, no power of two: round i sends to r + i and receives from r - i.
// Blocks may have any sizes: each pair uses its own block's size.
//
// Steps P-1, bytes sent (P-1)n, of n a block; no rank is ever sent to by two.
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on all-to-all.
#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void exchange(Builder& b, int to, int from, int ch) {
  b.put(b.input(to), {to}, ch);
  b.lag(1);
  take(b, b.output(from), from, ch);
}

void write_alltoall_pairwise(Builder& b) {
  const Group all(b.rank(), b.ranks());
  const int me = b.rank(), ch = b.channel(4);
  b.once([&] { b.copy({b.output(me)}, b.input(me)); });
  for (int round = 1; round < b.ranks(); ++round) {
    b.chunks([&] {
      if (is_power_of_two(b.ranks()))
        exchange(b, me ^ round, me ^ round, ch);
      else
        exchange(b, all.at(me + round), all.at(me - round), ch);
    });
  }
}

}  // namespace

Algorithm alltoall_pairwise() {
  return {"alltoall/pairwise", Collective::kAlltoall,
          "one partner a round; P-1 steps, (P-1)n bytes; large blocks over a network (Thakur 2005)",
          write_alltoall_pairwise};
}

}  // namespace weft

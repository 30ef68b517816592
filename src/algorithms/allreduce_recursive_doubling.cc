// Recursive doubling: in step k every rank exchanges its sum with the rank whose number
// differs in bit k.
//
// Four ranks:
//   step 1   0 <-> 1, 2 <-> 3: sends x0            holds x0, x1
//   step 2   0 <-> 2, 1 <-> 3: sends x0 + x1       holds x0, x1, (x2 + x3)
//   output = x0 + x1 + (x2 + x3); rank 2 gets x2 + x3 + (x0 + x1): the same bits, since only
//   the two sides of a + are exchanged.
// Six ranks: 4 and 5 first hand their inputs to 0 and 1, which count them as their own, and
// are told the result.
//
// Steps log2 P (+ 2 where P is no power of two), bytes sent n log2 P. The own sum is not kept. It
// is added up again from the messages of the earlier steps, which stay uncredited until the end. So
// partial sums are never rounded to f16 or bf16. Inputs are copied into a slot, not put: a
// peer holds them to the end, when in place this rank has overwritten its own.
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on allreduce; the extra ranks:
// Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
#include <algorithm>

#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// A rank beyond the power of two: hands in, gets the result.
void write_extra_doubling(Builder& b, int proxy, int plain, int result) {
  b.put(b.input(), {proxy}, plain);
  b.wait(proxy, result, b.output());
  b.copy({b.output()}, b.slot(proxy, result));
  b.credit(proxy, result, b.output());
}

// Sends the sum, or the input as it is.
void send_copy(Builder& b, const Sum& sum, int to, const Wire& wire) {
  if (!sum.plain()) {
    send(b, sum, to, wire);
    return;
  }
  b.copy({b.slot(wire.plain)}, b.input());
  b.signal({to}, wire.plain, b.input());
}

void write_allreduce_recursive_doubling(Builder& b) {
  const int core = power_of_two_in(b.ranks()), extra = b.ranks() - core;
  const int steps = std::countr_zero(static_cast<unsigned>(core));
  // A trip sends one sum a step, all of which are held until its end.
  const Wire wire{b.channel(2), b.channel(std::max(2, 2 * steps), Width::kWide)};
  const int result = extra > 0 ? b.channel(2) : -1;
  const int me = b.rank();
  b.chunks([&] {
    if (me >= core) return write_extra_doubling(b, me - core, wire.plain, result);
    Sum sum = own(b.input());
    if (me < extra) receive(b, sum, me + core, wire.plain);
    for (int bit = 1; bit < core; bit <<= 1) {
      const int peer = me ^ bit;
      send_copy(b, sum, peer, wire);
      const bool plain = bit == 1 && peer >= extra;
      receive(b, sum, peer, plain ? wire.plain : wire.sums);
    }
    if (me < extra)
      store(b, b.output(), sum, {me + core}, result);
    else
      store(b, b.output(), sum);
  });
}

}  // namespace

Algorithm allreduce_recursive_doubling() {
  return {"allreduce/recursive_doubling",
          Collective::kAllreduce,
          "sums exchanged across one bit of the rank a step; log2 P steps, n log2 P bytes; "
          "small messages (Thakur 2005)",
          write_allreduce_recursive_doubling,
          {},
          kConsistent};
}

}  // namespace weft

// Broadcast down a k-nomial tree, pipelined in chunks.
//
// Four ranks, root 0, radix 2: 0 -> 2 -> 3 and 0 -> 1. With radix 4: 0 -> 1, 2, 3. From another
// root the ranks count from it.
// Counted so, a rank's parent has its lowest digit other than 0 to the base k cleared; its
// children have one digit below that set. The largest subtree is first in the list, but one message
// goes to all children: it is written once.
//
// Steps log_k P, bytes sent n (k-1) log_k P at the root. Parameter radix: k, default 2.
//
// Source: binomial tree: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on broadcast; k-nomial:
// Chan, Heimlich, Purkayastha, van de Geijn, "Collective Communication: Theory, Practice, and
// Experience", Concurrency and Computation 19(13), 2007.
#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_broadcast_knomial(Builder& b) {
  const int root = b.param("root", 0), radix = b.param("radix", 2);
  const int ch = b.channel(4);
  const TreePlace place = knomial_place(b.rank(), b.ranks(), root, radix);
  b.chunks([&] { broadcast_down(b, place, ch); });
}

std::string refuses_broadcast_knomial(int, const Params& params) {
  return refusal_below(params, "radix", 2);
}

}  // namespace

Algorithm broadcast_knomial() {
  return {"broadcast/knomial", Collective::kBroadcast,
          "k-nomial tree, parameter radix; log_k P steps; small and medium messages (Thakur 2005)",
          write_broadcast_knomial, refuses_broadcast_knomial};
}

}  // namespace weft

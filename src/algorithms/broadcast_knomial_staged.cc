// Host-staged broadcast: the k-nomial tree of broadcast/knomial, with every message staged in a
// slot on the way out of and into the callers' buffers.
//
// Four ranks, root 0, radix 2; chunk by chunk:
//   rank 0   copies the chunk into its slot and sends that to 2 and 1;
//   rank 2   passes the slot of 0 on through its own to 3, and only then copies it to its output;
//   1 and 3  copy the slot of 0, of 2, to their outputs.
// With buffers in a GPU and slots in the host's memory these are the source's steps: one copy down
// at the root, a broadcast among hosts, a copy up at each receiver. The next hop does not wait for
// the copy up. The tree never touches a caller's buffer. With all of it in one memory the root's
// copy is one more than broadcast/knomial makes.
//
// Steps log_k P, after one copy of n bytes; bytes sent n (k-1) log_k P at the root. Parameter
// radix: k, default 2.
//
// Source: Xin, Xie, Li, "Large Message Broadcast Design for Distributed Machine Learning", 2020,
// on STG-COLL, model (6).
#include "algorithms/params.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_root(Builder& b, const TreePlace& place, int ch) {
  if (!place.children.empty()) {
    b.copy({b.slot(ch)}, b.input());
    b.signal(place.children, ch, b.output());
  }
  b.copy({b.output()}, b.input());
}

void write_receiver(Builder& b, const TreePlace& place, int ch) {
  b.wait(place.parent, ch, b.output());
  if (!place.children.empty()) {
    b.copy({b.slot(ch)}, b.slot(place.parent, ch), b.output());
    b.signal(place.children, ch, b.output());
  }
  b.copy({b.output()}, b.slot(place.parent, ch));
  b.credit(place.parent, ch, b.output());
}

void write_broadcast_knomial_staged(Builder& b) {
  const int root = b.param("root", 0), radix = b.param("radix", 2);
  const int ch = b.channel(4);
  const TreePlace place = knomial_place(b.rank(), b.ranks(), root, radix);
  b.chunks([&] { place.parent < 0 ? write_root(b, place, ch) : write_receiver(b, place, ch); });
}

std::string refuses_broadcast_knomial_staged(int, const Params& params) {
  return refusal_below(params, "radix", 2);
}

}  // namespace

Algorithm broadcast_knomial_staged() {
  return {"broadcast/knomial_staged", Collective::kBroadcast,
          "k-nomial tree among slots, parameter radix; a copy and log_k P steps; small messages "
          "whose buffers are far from the network (Xin 2020)",
          write_broadcast_knomial_staged, refuses_broadcast_knomial_staged};
}

}  // namespace weft

#include "passes/cost/renumber.h"

namespace weft::cost {

int Renumber::another(Rule rule, int rank, int base, int peer) const {
  switch (rule) {
    case Rule::kSame:
      return peer;
    case Rule::kTurned:
      return turned(peer, rank - base, ranks_);
    case Rule::kMirrored:
      return peer ^ base ^ rank;
    case Rule::kInOrder:
      return in_order(peer, base, rank);
    case Rule::kTurnedPastRoot:
      return peer == 0 ? 0 : 1 + turned(peer - 1, rank - base, ranks_ - 1);
    default:
      return of_nodes(rule, rank, base, peer);
  }
}

int Renumber::of_nodes(Rule rule, int rank, int base, int peer) const {
  const int nodes = ranks_ / node_;
  const int there = peer / node_, home = base / node_, own = rank / node_;
  const int place = turned(peer % node_, (rank - base) % node_ + node_, node_) % node_;
  if (rule == Rule::kNodesTurned)
    return turned(there, own - home + (own < home ? nodes : 0), nodes) * node_ + place;
  if (rule == Rule::kNodesMirrored) return (there ^ home ^ own) * node_ + place;
  if (there == home) return own * node_ + in_order(peer % node_, base % node_, rank % node_);
  return in_order(there, home, own) * node_ + place;
}

}  // namespace weft::cost

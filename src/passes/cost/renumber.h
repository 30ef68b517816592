// How the programs of many ranks follow from a few.
//
// Ranks come in units: single ranks, or nodes of equal size. The first units have programs of their
// own, every other rank's is that of its base, the rank at the same place of the last of them, with
// other peers. A rule says which; each step of a base has its own, since an algorithm may send to
// the next rank first and add up from the lowest one on.
#pragma once

#include <cstdint>

namespace weft::cost {

enum class Rule : std::uint8_t {
  kSame,            // a root stays who it is
  kTurned,          // ranks in a circle
  kMirrored,        // exclusive or of the numbers
  kInOrder,         // all others, from the lowest number on
  kTurnedPastRoot,  // in a circle without rank 0, which is rank 0
  kNodesTurned,     // nodes in a circle, and the places in each
  kNodesMirrored,   // exclusive or of the nodes' numbers, places in a circle
  kNodesInOrder,    // all other nodes, from the lowest on; in the own node its other ranks
};
inline constexpr int kRules = 8;

class Renumber {
 public:
  // `first` units have programs of their own, besides the bases' unit. `node` divides `ranks`, or
  // is 1: there are no nodes.
  Renumber(int ranks, int node, int unit, int first)
      : ranks_(ranks), node_(node), unit_(unit), first_(first) {}

  int unit() const { return unit_; }
  // Ranks that have programs of their own.
  int bases() const { return (first_ + 1) * unit_; }
  int base(int rank) const { return rank < bases() ? rank : first_ * unit_ + rank % unit_; }
  // The rank that stands in `rank`'s program where its base's has `peer`.
  int operator()(Rule rule, int rank, int peer) const {
    const int base = this->base(rank);
    if (rank == base) return peer;
    return peer == base ? rank : another(rule, rank, base, peer);
  }

 private:
  static int turned(int value, int by, int modulus) {
    const int sum = value + by;
    return sum >= modulus ? sum - modulus : sum;
  }
  // `index` counts all but `base`; the one with that number among all but `own`.
  static int in_order(int index, int base, int own) {
    if (index > base) --index;
    return index < own ? index : index + 1;
  }
  int another(Rule rule, int rank, int base, int peer) const;
  int of_nodes(Rule rule, int rank, int base, int peer) const;

  int ranks_, node_, unit_, first_;
};

}  // namespace weft::cost

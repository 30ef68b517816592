// Hops: what algorithms over whole ranges are made of, beside the phases of phases.h.
//
// A phase of phases.h passes chunk by chunk through one section, and keeps partial sums in slots.
// A phase of this file is a list of hops, and each hop is a section of its own. All chunks of a
// range are exchanged with one peer before the next hop starts. Partial sums are kept in the output
// (where f16 and bf16 are rounded). Two things follow. Hops that differ only in an index fold into
// rounds, so that a ring of a thousand ranks is a program of two sections. The hops of two phases
// that work on different blocks can run side by side, with any algorithms. That is how a
// hierarchical collective overlaps its levels (allreduce_multi_leader.cc).
//
// A hop sends before it receives, and its messages are received in the corresponding hop. So ranks
// that write the hops of their phases in one order cannot wait for each other in a circle.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/pattern.h"
#include "weft/builder.h"

namespace weft {

struct Hop {
  std::function<void(Builder&)> send = {};
  std::function<void(Builder&)> receive = {};
};
using Hops = std::vector<Hop>;

// Each hop a section, in which receiving lags one chunk behind sending.
void write_hops(Builder& b, const Hops& hops);
// All phases at once: hop i of the result is hop i of each. Phases that touch the same block must
// not be among them.
Hops side_by_side(const std::vector<Hops>& phases);
Hops one_after_the_other(std::vector<Hops> phases);
// `hops` after `by` hops without steps.
Hops delayed(Hops hops, std::size_t by);

// The owners of consecutive blocks in a group. The p-th owner has the blocks from bounds[p] to
// bounds[p + 1], counted from the first. Place p is the p-th owner, unless halving goes nearest
// first.
struct Owned {
  Group group;
  int first;
  std::vector<int> bounds;
  bool nearest_first = false;  // of halving and doubling; see reduce_halving

  BlockRange by(int from, int to) const {
    auto at = [&](int place) { return bounds[static_cast<std::size_t>(place)]; };
    return {first + at(from), at(to) - at(from)};
  }
  BlockRange by(int place) const { return by(place, place + 1); }
  BlockRange all() const { return by(0, group.size()); }
};

// How a group reduces a run of blocks onto their owners, and spreads the result from there.
struct Level {
  Owned owned;
  int channel;  // for the sums
  int spread;   // for the results
  bool fresh;   // the rank's part is still in the input, not in the output
  bool last;    // what is complete on this level is the result: scales
};

// Around a ring: size - 1 hops each.
Hops reduce_ring(const Level& level);
Hops spread_ring(const Level& level);
// Recursive halving, and its inverse; log2 hops of halving messages. A power of two of the places
// halves. The others must own nothing. They hand in first and are told last, one hop each.
//   farthest first   Place p is the p-th owner. With a single owner it is a binomial tree. Places
//                    from the power of two on hand in to the first places.
//   nearest first    The longest messages go to the next place, as in Rabenseifner's own code and
//                    in MPICH. The owner's number is the place's with the bits reversed. Of the
//                    first 2r places, where r are too many, the even ones hand in to the odd ones.
Hops reduce_halving(const Level& level);
Hops spread_doubling(const Level& level);
// Everybody sends to every owner; one hop.
Hops reduce_direct(const Level& level);
Hops spread_direct(const Level& level);
// Sums exchanged across one bit of the place a hop, the lowest first; all places get all of it.
// Allreduce, not reduce-scatter: the owners do not matter.
Hops exchange_doubling(const Level& level);

}  // namespace weft

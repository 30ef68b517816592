// Broadcast down a k-nomial tree, pipelined in chunks.
//
// Four ranks, root 0, radix 2: 0 -> 2 -> 3 and 0 -> 1. With radix 4: 0 -> 1, 2, 3. From another
// root the ranks count from it.
// Counted so, a rank's parent has its lowest digit other than 0 to the base k cleared; its
// children have one digit below that set. The largest subtree is served first in the list, but one
// message serves all children: it is written once.
//
// Steps log_k P, bytes sent n (k-1) log_k P at the root. Parameter radix: k, default 2.
//
// Source: binomial tree: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on broadcast; k-nomial:
// Chan, Heimlich, Purkayastha, van de Geijn, "Collective Communication: Theory, Practice, and
// Experience", Concurrency and Computation 19(13), 2007.
#include <algorithm>

#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// In numbers counted from the root.
TreePlace place_in_tree(int number, int ranks, int radix) {
  TreePlace place;
  for (long long weight = 1; weight < ranks; weight *= radix) {
    int w = static_cast<int>(weight), digit = number / w % radix;
    if (digit > 0) {
      place.parent = number - digit * w;
      break;
    }
    for (int d = 1; d < radix && number + d * weight < ranks; ++d)
      place.children.push_back(number + d * w);
  }
  std::reverse(place.children.begin(), place.children.end());
  return place;
}

void write(Builder& b) {
  const int root = b.param("root", 0), radix = b.param("radix", 2);
  const int ch = b.channel(4);
  const Group all(b.rank(), b.ranks());
  TreePlace place = place_in_tree(all.wrap(b.rank() - root), b.ranks(), radix);
  if (place.parent >= 0) place.parent = all.at(place.parent + root);
  for (int& child : place.children) child = all.at(child + root);
  b.chunks([&] { broadcast_down(b, place, ch); });
}

std::string refuses(int, const Params& params) {
  auto radix = params.find("radix");
  if (radix == params.end() || radix->second >= 2) return {};
  return "radix = " + std::to_string(radix->second) + ": give 2 or more";
}

}  // namespace

Algorithm broadcast_knomial() {
  return {"broadcast/knomial", Collective::kBroadcast,
          "k-nomial tree, parameter radix; log_k P steps; small and medium messages (Thakur 2005)",
          write, refuses};
}

}  // namespace weft

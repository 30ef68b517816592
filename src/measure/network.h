// The network between nodes.
#pragma once

#include <vector>

#include "measure/probe.h"

namespace weft::measuring {

// The ranks of each node, in order.
using Members = std::vector<std::vector<int>>;
Members members_of(const std::vector<int>& place);

// From each node to the next, around.
struct Network {
  std::vector<double> latency;   // seconds, one way
  std::vector<double> alone;     // bytes a second, of a rank to its counterpart
  std::vector<double> together;  // of all ranks to theirs at once
};

// Pieces of a rank that are on their way to another node, and the bytes of all of them: the least
// that the probe has.
inline constexpr std::size_t kUnderWay = 16, kFarPiece = std::size_t{64} << 10;

// Equal on all ranks. One node after the other sends, `times` times.
Network measure_network(Probe& probe, const Members& nodes, int times);

}  // namespace weft::measuring

// Small rank arithmetic that several algorithms share.
#pragma once

#include <bit>

namespace weft {

// The largest power of two that is at most `ranks`.
inline int power_of_two_in(int ranks) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
}

inline bool is_power_of_two(int ranks) { return power_of_two_in(ranks) == ranks; }

// Blocks [first, first + count) of the message.
struct BlockRange {
  int first;
  int count;
};

// Ranks a node where nobody has said how many: the largest divisor up to the square root.
inline int node_size_for(int ranks) {
  int node = 1;
  for (int divisor = 2; divisor * divisor <= ranks; ++divisor)
    if (ranks % divisor == 0) node = divisor;
  return node;
}

}  // namespace weft

// An algorithm with parameters, as users write it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/plan.h"

namespace weft {

// An algorithm as users write it: "ring", "allreduce/multi_leader(node=4,pieces=2)",
// "two_shot(chunk=64K)". `chunk` is no parameter of the plan: bytes of a chunk, at most; 0 where it
// is not said.
struct Choice {
  std::string algorithm;
  Params params;
  std::size_t chunk = 0;
  bool operator==(const Choice&) const = default;
};
// A value is a number, a word or a list of numbers, [0,2,1]; a chunk may have K, M or G after it,
// powers of 1024. Throws InvalidArgument showing the text. It does not look whether there is such
// an algorithm.
Choice parse_choice(std::string_view text);
// The inverse.
std::string to_text(const Choice& choice);

}  // namespace weft

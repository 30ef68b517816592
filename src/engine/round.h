// Rounds of sections, resolved against bindings: all that no chunk changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/binding.h"
#include "plan/walk.h"

namespace weft {

struct Round : PreparedRound {
  struct Place {  // of an input or output operand; of a slot: nothing
    int owner = 0;
    std::size_t bytes = 0;  // before it in its buffer
    std::size_t elements = 0;
  };

  std::vector<Place> places;  // by operand
};

// The rounds that runs stood in last. Calls that a loop repeats differ in their buffers alone, and
// find theirs again, those of short plans at least: small ones then only move bytes.
class Rounds {
 public:
  // Holds until the next call of this.
  const Round& get(const Binding& binding, std::size_t section, int round);

 private:
  struct Kept {
    std::uint64_t revision = 0;
    std::size_t section = 0;
    int number = 0;
    Round round;
  };
  // A section's rounds follow each other, those of the next binding begin further on. Longer
  // plans, and bindings made much later, take each other's places.
  static constexpr std::size_t kMost = 32, kApart = 4;

  Round passing_;           // of a binding that is not remembered
  std::vector<Kept> kept_;  // none, or kMost
};

}  // namespace weft

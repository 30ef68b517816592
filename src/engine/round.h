// A round of a section, resolved against a binding: all that no chunk changes.
#pragma once

#include <cstddef>
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

  // Does nothing if it holds this round already. The small calls of a loop differ only in their
  // buffers, and then only move bytes.
  void prepare(const Binding& binding, std::size_t section, int round);

  std::vector<Place> places;  // by operand

 private:
  std::uint64_t revision_ = 0;
  std::size_t section_ = 0;
  int round_ = 0;
};

}  // namespace weft

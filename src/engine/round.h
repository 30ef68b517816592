// A round of a section, resolved against a binding: all that no chunk changes.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/binding.h"

namespace weft {

struct Round {
  struct Place {  // of an input or output operand; of a slot: nothing
    int owner = 0;
    std::size_t bytes = 0;  // before it in its buffer
    std::size_t elements = 0;
  };
  struct Prepared {
    const Step* step;
    std::size_t elements;  // of its extent
    std::size_t chunks;
    std::size_t places;  // number of the first of its operands: dst, then src

    bool has(std::size_t chunk) const { return chunk < chunks; }
  };

  // Does nothing if that is what it holds already: the small calls of a loop differ in their
  // buffers only, and come down to moving bytes.
  void prepare(const Binding& binding, std::size_t section, int round);

  std::vector<Prepared> steps;
  std::size_t trips = 0;
  std::vector<Place> places;

 private:
  void prepare(const Binding& binding, const Section& section, const Step& step, int round);

  std::uint64_t revision_ = 0;
  std::size_t section_ = 0;
  int round_ = 0;
};

}  // namespace weft

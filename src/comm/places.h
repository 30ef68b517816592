// How long it takes until a slot is written again.
#pragma once

#include <cstddef>

#include "engine/binding.h"

namespace weft {

// How many places each slot turns through, at least one: until the first comes round again, the
// messages in a rank's slots span `reuse` bytes (docs/machine-model.md), as far as a lane's slot
// memory goes. For a binding whose parts and chunk are set.
std::size_t places_of(const Binding& binding, std::size_t reuse);

}  // namespace weft

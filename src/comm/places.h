// How long it takes until a slot is written again.
#pragma once

#include <cstddef>

#include "engine/binding.h"

namespace weft {

// How many places each slot turns through, at least one. Until the first place comes round again,
// the messages in a rank's slots span `reuse` bytes, or what kSlotBytes hold if that is less
// (docs/machine-model.md). The binding's plan, parts and chunk are set.
std::size_t places_of(const Binding& binding, std::size_t reuse);

}  // namespace weft

// How long it takes until a slot is written again.
#pragma once

#include <cstddef>

#include "base/machine_model.h"
#include "engine/binding.h"

namespace weft {

// How many places each slot turns through, at least one. Until the first place comes round again,
// the messages in a rank's slots span `reuse.span`, or what kSlotBytes hold if that is less
// (docs/machine-model.md). One for calls longer than `reuse.to`. The binding's plan, parts,
// element and chunk are set.
std::size_t places_of(const Binding& binding, const Reuse& reuse);

// The longest message that goes in a slot which is lent: reuse.lend_to where this rank both sends
// to one rank and receives, else 0.
std::size_t lends_to(const Binding& binding, const Reuse& reuse);

}  // namespace weft

// How long it takes until a slot is written again.
#pragma once

#include <cstddef>

#include "base/machine_model.h"
#include "engine/binding.h"

namespace weft {

// How many places each slot turns through, at least one. Until the first place comes round again,
// the messages in a rank's slots span `reuse.span`, or what kSlotBytes or `reuse.most` hold if that
// is less
// (docs/machine-model.md). One for calls longer than `reuse.to`. The binding's plan, parts,
// element and chunk are set.
std::size_t places_of(const Binding& binding, const Reuse& reuse);

// Which messages go in slots that are lent, none unless this rank both sends to one rank and
// receives; and how many of these turn. The binding is as for places_of().
Lending lending_of(const Binding& binding, const Reuse& reuse);

}  // namespace weft

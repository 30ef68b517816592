// How a call is cut on a topology that is only imagined: as a communicator cuts it.
#pragma once

#include <cstddef>

#include "passes/cost/time_domain.h"
#include "weft/price.h"

namespace weft {

// Of a whole message of `bytes`. Where programs are folded all blocks are equal: they are those of
// several ranks.
cost::Call call_of(const cost::Programs& programs, std::size_t bytes, const PriceOptions& options);

}  // namespace weft

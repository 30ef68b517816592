// What the selector tests ask, in short.
#pragma once

#include <string>

#include "select/selector.h"

namespace weft {

// Of float32.
inline Call call_of(Collective collective, std::size_t bytes) {
  Call call{collective};
  call.dtype = DType::kF32;
  call.count = bytes / 4;
  return call;
}

inline std::string chosen(int ranks, const Call& call, const Settings& settings = {}) {
  return to_text(Selector(ranks, settings).choose(call).selection().choice);
}

}  // namespace weft

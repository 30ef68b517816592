// What algorithms say of parameters that they cannot take.
#pragma once

#include <string>

#include "weft/builder.h"

namespace weft {

// Why `params` will not do if the number `name` is given and below `least`; empty: it will.
inline std::string refusal_below(const Params& params, const char* name, int least) {
  auto given = params.find(name);
  if (given == params.end() || given->second.number() >= least) return {};
  return std::string(name) + " = " + to_text(given->second) + ": give " + std::to_string(least) +
         " or more";
}

}  // namespace weft

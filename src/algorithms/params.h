// What algorithms say of parameters that they cannot take.
#pragma once

#include <string>

#include "weft/builder.h"

namespace weft {

// Why `params` will not do if the number `name` is given and below `least`; empty: it will.
inline std::string refusal_below(const Params& params, const char* name, int least) {
  const int given = param_of(params, name, least);
  if (given >= least) return {};
  return std::string(name) + " = " + std::to_string(given) + ": give " + std::to_string(least) +
         " or more";
}

}  // namespace weft

// The errors of algorithms about parameters that they refuse.
#pragma once

#include <string>
#include <vector>

#include "weft/builder.h"

namespace weft {

// Why `params` will not do if the number `name` is given and below `least`; empty: it will.
inline std::string refusal_below(const Params& params, const char* name, int least) {
  const int given = param_of(params, name, least);
  if (given >= least) return {};
  return std::string(name) + " = " + std::to_string(given) + ": give " + std::to_string(least) +
         " or more";
}

// Why `params` will not do if the word `name` is given and none of `words`.
inline std::string refusal_unless(const Params& params, const char* name,
                                  const std::vector<std::string>& words) {
  const Param fallback(words.front());
  const std::string& given = param_of(params, name, fallback).word();
  std::string all;
  for (const std::string& word : words) {
    if (word == given) return {};
    all += (all.empty() ? "" : ", ") + word;
  }
  return std::string(name) + " = " + given + ": give " + all;
}

}  // namespace weft

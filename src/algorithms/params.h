// Parameters that several algorithms have, and the errors about those that they refuse.
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

// By how many chunks a rank is ahead of what it takes: it sends so many, and one more, before it
// takes the first. With more, ranks that are held up wait less for each other, and more lies in the
// caches meanwhile.
inline constexpr const char* kAhead = "ahead";
// All that a rank sends before it takes the first needs room in a mailbox.
inline constexpr int kMostAhead = kMailboxDepth - 1;

// Why `params` will not do if kAhead is given and not from 1 to kMostAhead; empty: it will.
inline std::string refusal_of_ahead(int /*ranks*/, const Params& params) {
  const int given = param_of(params, kAhead, 1);
  if (given >= 1 && given <= kMostAhead) return {};
  return std::string(kAhead) + " = " + std::to_string(given) + ": give 1 to " +
         std::to_string(kMostAhead);
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

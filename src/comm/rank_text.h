// A rank, in messages to people.
#pragma once

#include <string>

namespace weft {

inline std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace weft

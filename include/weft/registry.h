// Algorithms by name: those that Weft comes with, and users' own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/algorithm.h"
#include "weft/choice.h"

namespace weft {

// Thread safe. The built-in algorithms are always there.
const std::vector<std::string>& builtin_algorithm_names();
std::vector<std::string> algorithm_names();
// Accepts the full name, the part after the slash if only one algorithm has it, or an alias, in
// this order, and after it parameters as in Choice. Throws InvalidArgument listing what there is.
Algorithm find_algorithm(std::string_view name);
// The same among the algorithms of one collective, where the part after the slash is unique.
Algorithm find_algorithm(std::string_view name, Collective collective);
// Adds or replaces a user's algorithm after verifying it for 1 .. 5 and 8 ranks (those it
// does not refuse). Throws InvalidPlan with the verifier's report.
void register_algorithm(Algorithm algorithm);

// All ranks' programs of an algorithm by name, for proofs and drawings.
Plan make_plan(std::string_view algorithm, int ranks, Params params = {});

}  // namespace weft

// How large a plan may be to be executed. A text of a few lines can ask for more steps, cells or
// streams than any machine has.
#pragma once

#include <string>

#include "weft/plan.h"

namespace weft::verifier {

// Names what a plan has too much of, and the limit; empty: nothing. Counts, executes nothing.
// Every built-in plan stays far below, on thousands of ranks too. The plan has a program for each
// rank.
std::string excess_of(const Plan& plan);

}  // namespace weft::verifier

// Checks of a plan without executing it: operands and peers within range.
#pragma once

#include "passes/verify/report.h"

namespace weft::verifier {

// Adds a kMalformed finding for every rank's first broken rule; without one, a kOpaque finding if a
// step is opaque. Only a plan without any may be executed by the verifier.
void check_form(const Plan& plan, Findings& findings);

// Throws InvalidPlan, which names the rank and the step of the first broken rule, for who executes
// a plan that was not proved. Opaque plans and those too long to be proved are well formed.
void refuse_malformed(const Plan& plan);

}  // namespace weft::verifier

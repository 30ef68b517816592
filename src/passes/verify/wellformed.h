// Checks of a plan without executing it: operands and peers within range.
#pragma once

#include "passes/verify/report.h"

namespace weft::verifier {

// Adds a kMalformed finding for every rank's first broken rule; without one, a kOpaque finding if a
// step is opaque. Only a plan without any may be executed by the verifier.
void check_form(const Plan& plan, Findings& findings);

// Throws InvalidPlan that names the first rank and step without the ranks, channels and blocks it
// names: for who executes a plan that was not proved. Whether they are those of its collective is
// for the verifier to say.
void refuse_malformed(const Plan& plan);

}  // namespace weft::verifier

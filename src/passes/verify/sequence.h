// Plans that follow each other on one lane.
#pragma once

#include <vector>

#include "weft/verify.h"

namespace weft::verifier {

// Executes the plans one after the other on the same message streams, with no barrier in
// between: a rank goes on to the next plan while others are still in the last one. Shows
// for these plans what the lane's contract promises for all: any plan may follow any other.
// Requires equal rank counts. Each plan gets buffers of its own.
VerifyReport verify_sequence(const std::vector<Plan>& plans, const VerifyOptions& options = {});

}  // namespace weft::verifier

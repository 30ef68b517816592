// Proof of a plan by symbolic execution of all ranks' programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/algorithm.h"
#include "weft/plan.h"

namespace weft {

enum class Fault : std::uint8_t {
  kWrongResult,  // an output does not hold what its collective defines
  kRace,         // a read or write not ordered after the write or read it conflicts with
  kSlotReuse,    // a slot read after it was credited, or filled twice before it was sent
  kPutSource,    // the source of a put overwritten while it may still be read
  kDeadlock,     // a wait that nothing satisfies
  kContract,  // messages left unreceived or uncredited at the end: the next plan would misread them
  kMalformed,  // an operand or peer out of range, or steps of one message with different sizes
  kClaim,      // a claim of the algorithm that does not hold
  kOpaque,     // the fabric's own function: nothing is known to be wrong, and nothing is proved
};
std::string_view name_of(Fault fault);

struct Finding {
  Fault fault;
  int rank;          // where it was seen
  std::string step;  // the step's text, with section, round and trip
  std::string text;  // what is wrong, and with whom
};

struct VerifyReport {
  std::vector<Finding> findings;  // at most a few a scenario; empty: proved
  bool consistent = false;        // all ranks' outputs have the same reduction tree
  bool reproducible = false;      // they are that of the ranks in order, rounded once
  bool rounds_partials = false;   // f16 and bf16 partial sums are rounded on the way
  // Roundings by narrow slots between a contribution and a result, at most: what f32 loses.
  int narrowings = 0;
  int scenarios = 0;  // sizes times placements that were executed
  bool ok() const { return findings.empty(); }
};

struct VerifyOptions {
  int max_trips = -1;  // chunks a block; -1: twice the trips that can be under way, and one
  Claims claims = {};
};

// Executes `plan` for every trip count 0 .. max_trips with an odd tail, in place and
// out of place, uneven counts where the collective takes them. All steps of one message must go
// with ranges whose sizes are equal for all counts, not only in the calls executed. Control flow
// does not depend on data and every wait names its message, so one execution stands for all
// schedules. Neighbours are the most permissive that the lane's contract allows: ranks
// start and end at any time, and earlier messages may still be uncredited.
VerifyReport verify(const Plan& plan, const VerifyOptions& options = {});

// The report as text, one finding a paragraph.
std::string to_text(const VerifyReport& report);

}  // namespace weft

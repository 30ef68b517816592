// How a call's algorithm is chosen, for those who want to see it: what `weft explain` shows.
#pragma once

#include <string>
#include <string_view>

#include "weft/algorithm.h"
#include "weft/call.h"
#include "weft/choice.h"

namespace weft {

// In the order in which they are asked.
enum class Rule : std::uint8_t {
  kCall,         // the call names it
  kEnvironment,  // WEFT_ALGORITHM names it
  kTable,        // a row of the tuning file
  kBuiltIn,      // a row of the table that Weft comes with
};
std::string_view name_of(Rule rule);  // "call", "environment", "table", "built-in"

struct Selection {
  Choice choice;  // chunk 0: by the size of a block
  Rule rule = Rule::kBuiltIn;
  // Of the file, from 1: the one that says it, or that says "built-in"; 0: none does.
  int row = 0;
};

struct SelectionOptions {
  int nodes = 1;              // machines that the ranks are on, in order, as many on each
  bool reproducible = false;  // as CommunicatorOptions
  std::string tuning;         // as CommunicatorOptions
  std::string wire = {};      // as CommunicatorOptions
  bool crowded = false;       // ranks outnumber their cores: Communicator::crowded
};

// The choice of a communicator of `ranks` ranks, made in this process's environment, for `call`. It
// does not look at the call's buffers. An alltoall of two ranks that send each other as much is to
// have that as its count, and no counts: what each keeps decides nothing. Throws InvalidArgument
// and Unsupported as the call itself would. Thread safe.
Selection select(const Call& call, int ranks, const SelectionOptions& options = {});

// The tuning file that such a communicator would read; empty: none.
std::string tuning_file_for(const SelectionOptions& options);
// Whether an algorithm for `ranks` ranks, which it must not refuse, reads peers' buffers in place.
// It then needs symmetric memory on all ranks.
bool reaches_into_peers(const Algorithm& algorithm, int ranks);
// Whether its plan for them serves equal counts only (PlanShape::equal_counts). No row may name it:
// a rank cannot tell whether all others' counts are equal, too.
bool needs_equal_counts(const Algorithm& algorithm, int ranks);
// The rows of a tuning file are looked through as when a communicator is made. Throws
// InvalidArgument naming the file and the row.
void check_tuning(const std::string& file);

}  // namespace weft

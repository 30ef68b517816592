#include "weft/select.h"

#include "plan/verbs.h"
#include "select/selector.h"
#include "select/settings.h"
#include "select/tuning.h"
#include "weft/error.h"

namespace weft {

std::string_view name_of(Rule rule) {
  switch (rule) {
    case Rule::kCall:
      return "call";
    case Rule::kEnvironment:
      return "environment";
    case Rule::kTable:
      return "table";
    case Rule::kBuiltIn:
      return "built-in";
  }
  throw InternalError("unknown rule");
}

Selection select(const Call& call, int ranks, const SelectionOptions& options) {
  Settings settings = Settings::of(options.reproducible, options.wire);
  if (options.nodes < 1 || options.nodes > ranks)
    throw InvalidArgument(std::to_string(ranks) + " ranks on " + std::to_string(options.nodes) +
                          " nodes: give 1 .. " + std::to_string(ranks));
  settings.crowded = options.crowded;
  for (int rank = 0; rank < ranks; ++rank) settings.place.push_back(rank * options.nodes / ranks);
  if (const std::string file = tuning_file(options.tuning); !file.empty())
    settings.tuned = read_tuning(file);
  return Selector(ranks, settings).choose(call).selection();
}

std::string tuning_file_for(const SelectionOptions& options) { return tuning_file(options.tuning); }

bool reaches_into_peers(const Algorithm& algorithm, int ranks) {
  const RankPlan plan = make_rank_plan(algorithm, 0, ranks, {});
  return reads_in_peers(plan, 0);
}

bool needs_equal_counts(const Algorithm& algorithm, int ranks) {
  return make_rank_plan(algorithm, 0, ranks, {}).shape.equal_counts;
}

void check_tuning(const std::string& file) { read_tuning(file); }

}  // namespace weft

#include "weft/select.h"

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
  Settings settings = Settings::from_environment();
  settings.nodes = options.nodes;
  settings.reproducible = settings.reproducible || options.reproducible;
  if (const std::string file = tuning_file(options.tuning); !file.empty())
    settings.tuned = read_tuning(file);
  return Selector(ranks, settings).choose(call);
}

std::string tuning_file_for(const SelectionOptions& options) { return tuning_file(options.tuning); }

void check_tuning(const std::string& file) { read_tuning(file); }

}  // namespace weft

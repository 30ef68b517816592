#include "plan/verbs.h"

#include <algorithm>

#include "weft/error.h"

namespace weft {

const VerbTraits& traits_of(Verb verb) {
  auto i = static_cast<std::size_t>(verb);
  if (i >= kVerbTraits.size()) throw InternalError("no verb " + std::to_string(i));
  return kVerbTraits[i];
}

std::string_view name_of(Verb verb) { return traits_of(verb).name; }

bool is_opaque(const Program& program) {
  const auto opaque = [](const Step& step) { return traits_of(step.verb).opaque; };
  return std::ranges::any_of(
      program, [&](const Section& section) { return std::ranges::any_of(section.steps, opaque); });
}

bool reads_in_peers(const RankPlan& plan, int rank) {
  for (const Section& section : plan.program)
    for (const Step& step : section.steps)
      for (const Operand& from : step.src)
        if (from.buffer != Buffer::kSlot && from.rank != Index(rank)) return true;
  return false;
}

}  // namespace weft

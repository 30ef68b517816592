#include "engine/round.h"

namespace weft {

namespace {

void resolve(const Binding& binding, std::size_t section, int number, Round& round) {
  round.prepare(binding.plan->program[section], number, binding.parts[0], binding.parts[1],
                binding.chunk);
  round.places.clear();
  for (const PreparedStep& now : round.steps)
    for (const auto* operands : {&now.step->dst, &now.step->src})
      for (const Operand& operand : *operands) {
        Round::Place& place = round.places.emplace_back();
        if (operand.buffer == Buffer::kSlot) continue;
        const Partition& part = binding.part(operand.buffer);
        const int block = operand.range.block.at(number);
        place.owner = operand.rank.at(number);
        place.bytes = part.offset(block) * binding.element;
        place.elements = part.size(block, operand.range.blocks);
      }
}

}  // namespace

[[gnu::hot]] const Round& Rounds::get(const Binding& binding, std::size_t section, int round) {
  if (binding.revision == 0) {
    resolve(binding, section, round, passing_);
    return passing_;
  }
  if (kept_.empty()) kept_.resize(kMost);
  const std::size_t at = binding.revision * kApart + section + static_cast<std::size_t>(round);
  Kept& kept = kept_[at % kMost];
  if (kept.revision != binding.revision || kept.section != section || kept.number != round) {
    kept.revision = 0;  // should this throw
    resolve(binding, section, round, kept.round);
    kept.revision = binding.revision;
    kept.section = section;
    kept.number = round;
  }
  return kept.round;
}

}  // namespace weft

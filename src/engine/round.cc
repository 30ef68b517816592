#include "engine/round.h"

namespace weft {

void Round::prepare(const Binding& binding, std::size_t section, int round) {
  if (binding.revision != 0 && revision_ == binding.revision && section_ == section &&
      round_ == round)
    return;
  revision_ = binding.revision;
  section_ = section;
  round_ = round;
  PreparedRound::prepare(binding.plan->program[section], round, binding.parts[0], binding.parts[1],
                         binding.chunk);
  places.clear();
  for (const PreparedStep& now : steps)
    for (const auto* operands : {&now.step->dst, &now.step->src})
      for (const Operand& operand : *operands) {
        Place& place = places.emplace_back();
        if (operand.buffer == Buffer::kSlot) continue;
        const Partition& part = binding.part(operand.buffer);
        const int block = operand.range.block.at(round);
        place.owner = operand.rank.at(round);
        place.bytes = part.offset(block) * binding.element;
        place.elements = part.size(block, operand.range.blocks);
      }
}

}  // namespace weft

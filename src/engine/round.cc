#include "engine/round.h"

#include <algorithm>

namespace weft {

void Round::prepare(const Binding& binding, std::size_t section, int round) {
  if (binding.revision != 0 && revision_ == binding.revision && section_ == section &&
      round_ == round)
    return;
  revision_ = binding.revision;
  section_ = section;
  round_ = round;
  steps.clear();
  places.clear();
  trips = 0;
  const Section& all = binding.plan->program[section];
  for (const Step& step : all.steps) {
    prepare(binding, all, step, round);
    trips = std::max(trips, steps.back().chunks + step.lag);
  }
}

void Round::prepare(const Binding& binding, const Section& section, const Step& step, int round) {
  const Range& extent = step.extent;
  std::size_t elements =
      extent.blocks == 0 ? 0
                         : binding.part(extent.buffer).size(extent.block.at(round), extent.blocks);
  steps.push_back(
      {&step, elements, section.chunked ? chunks_of(elements, binding.chunk) : 1, places.size()});
  for (const auto* operands : {&step.dst, &step.src})
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

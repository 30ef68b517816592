#include "comm/places.h"

#include <algorithm>

#include "engine/lent.h"
#include "engine/round.h"
#include "weft/plan.h"

namespace weft {
namespace {

// Elements.
std::size_t longest_of(const Partition& parts, int blocks) {
  std::size_t longest = 0;
  for (int block = 0; block < blocks; ++block) longest = std::max(longest, parts.size(block, 1));
  return longest;
}

std::size_t longest_block(const Binding& binding) {
  const PlanShape& shape = binding.plan->shape;
  return std::max(longest_of(binding.parts[0], shape.input_blocks),
                  longest_of(binding.parts[1], shape.output_blocks));
}

// Whether a step sends to one rank only, and may do so from the caller's memory.
bool sends_to_one(const Section& section, std::size_t number) {
  const Step& step = section.steps[number];
  return (step.verb == Verb::kPut && step.peers.size() == 1) ||
         (number > 0 && is_put(section.steps[number - 1], step));
}

bool sends_and_receives(const Binding& binding) {
  bool sends = false, receives = false;
  for (const Section& section : binding.plan->program) {
    for (std::size_t number = 0; number < section.steps.size(); ++number) {
      sends |= sends_to_one(section, number);
      receives |= section.steps[number].verb == Verb::kWait;
    }
  }
  return sends && receives;
}

}  // namespace

std::size_t places_of(const Binding& binding, const Reuse& reuse) {
  const PlanShape& shape = binding.plan->shape;
  const std::size_t longest = std::max(binding.parts[0].total(), binding.parts[1].total());
  if (longest * binding.element > reuse.to) return 1;
  // A block may be shorter than a chunk. Then the rest of a slot is never written.
  const std::size_t block = longest_block(binding);
  std::size_t all = 0, written = 0;
  for (const Channel& channel : shape.channels) {
    const auto slots = static_cast<std::size_t>(channel.slots);
    const std::size_t bytes = binding.slot_bytes(channel);
    all += slots * bytes;
    written += slots * std::min(bytes, block * binding.bytes_in(channel.width));
  }
  if (written == 0) return 1;
  const std::size_t most = std::min(kSlotBytes / all, reuse.most / written);
  return std::clamp<std::size_t>((reuse.span + written - 1) / written, 1,
                                 std::max<std::size_t>(1, most));
}

Lending lending_of(const Binding& binding, const Reuse& reuse) {
  if (!sends_and_receives(binding)) return {};
  Lending lending{.to = std::min(reuse.lend_to, kLentBytes)};
  const std::size_t block = longest_block(binding) * binding.element;
  const std::size_t message = std::min(binding.chunk * binding.element, block);
  const std::size_t span = reuse.lent_span;
  // All lent slots together span less of shorter messages.
  if (message * LentSlots::kSlots >= span && block <= span / 2 && span > 0)
    lending.turn = span / message;
  return lending;
}

}  // namespace weft

#include "engine/binding.h"

#include <algorithm>

namespace weft {

void Binding::prepare() {
  std::size_t before = 0, most = 0;
  for (std::size_t c = 0; c < plan->shape.channels.size(); ++c) {
    const Channel& channel = plan->shape.channels[c];
    const std::size_t bytes = slot_bytes(channel);
    slots[c] = before;
    before += bytes * static_cast<std::size_t>(channel.slots);
    most = std::max(most, bytes);
  }
  uses_slots = most > kInlineBytes;
  const auto has_delivery = [](const Section& section) {
    return std::ranges::any_of(section.steps, [](const Step& step) {
      return step.verb == Verb::kPut && !step.dst.empty();
    });
  };
  delivers = std::ranges::any_of(plan->program, has_delivery);
}

}  // namespace weft

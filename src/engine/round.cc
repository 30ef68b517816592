#include "engine/round.h"

#include <algorithm>

namespace weft {

namespace {

bool converts(const Binding& binding, const ResolvedStep& step) {
  if (step.verb != Verb::kCopy) return false;
  if (binding.accumulator == binding.element && !binding.reduce_narrow) return false;
  const bool wide = binding.is_wide(step.from()->width);
  return std::any_of(step.into, step.from(),
                     [&](const Place& to) { return binding.is_wide(to.width) != wide; });
}

// A peer's memory may have changed once the signal comes to it.
bool is_sent_next(int rank, const ResolvedStep& copy, const ResolvedStep& next) {
  return is_put(*copy.step, *next.step) && copy.from()->owner == rank &&
         copy.into->width == Width::kPlain;
}

// A put that names no output of its reader may be loaded from where it lies, and short payloads
// are sent in the message: nothing would be saved.
bool is_sent_as_summed(const Binding& binding, const ResolvedStep& reduction,
                       const ResolvedStep& next) {
  const Step &sum = *reduction.step, &sent = *next.step;
  return sum.verb == Verb::kReduce && sent.verb == Verb::kPut && sum.dst.size() == 1 &&
         sent.dst.size() == 1 && sum.dst[0] == sent.src[0] && sum.lag == sent.lag &&
         reduction.elements * binding.element > kInlineBytes;
}

ResolvedStep put_of(const ResolvedStep& copy, const ResolvedStep& signal) {
  ResolvedStep put = signal;
  put.verb = Verb::kPut;
  put.into = copy.from();
  put.targets = 0;
  put.sources = 1;
  put.passing = true;
  return put;
}

Place place_of(const Binding& binding, const Operand& operand, int number) {
  if (operand.buffer == Buffer::kSlot) {
    const Width width = binding.plan->shape.channels[operand.channel].width;
    return {.buffer = Buffer::kSlot,
            .channel = operand.channel,
            .width = width,
            .wide = binding.is_wide(width),
            .owner = binding.member(operand.rank.at(number))};
  }
  const Partition& part = binding.part(operand.buffer);
  const int block = operand.range.block.at(number);
  return {.buffer = operand.buffer,
          .wide = binding.is_wide(Width::kPlain),
          .owner = operand.rank.at(number),
          .bytes = part.offset(block) * binding.element,
          .elements = part.size(block, operand.range.blocks)};
}

}  // namespace

bool is_put(const Step& copy, const Step& signal) {
  return copy.verb == Verb::kCopy && copy.dst.size() == 1 && copy.dst[0].buffer == Buffer::kSlot &&
         copy.src[0].buffer != Buffer::kSlot && signal.verb == Verb::kSignal &&
         signal.peers.size() == 1 && signal.channel == copy.dst[0].channel &&
         signal.lag == copy.lag;
}

void Round::resolve(const Binding& binding, int rank, std::size_t section, int number) {
  prepare(binding.plan->program[section], number, binding.parts[0], binding.parts[1],
          binding.chunk);
  places.clear();
  peers.clear();
  for (const ResolvedStep& now : steps) {
    for (const auto* operands : {&now.step->dst, &now.step->src})
      for (const Operand& operand : *operands) places.push_back(place_of(binding, operand, number));
    for (const Index& peer : now.step->peers) peers.push_back(binding.member(peer.at(number)));
  }
  const Place* place = places.data();
  const int* peer = peers.data();
  for (ResolvedStep& now : steps) {
    const Step& step = *now.step;
    now.into = place;
    now.targets = static_cast<int>(step.dst.size());
    now.sources = static_cast<int>(step.src.size());
    now.peers = peer;
    now.readers = static_cast<int>(step.peers.size());
    now.channel = static_cast<std::uint8_t>(binding.first_channel + step.channel);
    now.verb = step.verb;
    now.converts = converts(binding, now);
    now.left = now.passing = false;
    place += step.dst.size() + step.src.size();
    peer += step.peers.size();
  }
  join(binding, rank);
}

// Makes copies and the signals after them puts.
void Round::join(const Binding& binding, int rank) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < steps.size(); ++i, ++kept) {
    ResolvedStep now = steps[i];
    if (i + 1 < steps.size() && now.elements == steps[i + 1].elements &&
        now.chunks == steps[i + 1].chunks) {
      now.left = is_sent_as_summed(binding, now, steps[i + 1]);
      if (is_sent_next(rank, now, steps[i + 1])) now = put_of(now, steps[++i]);
    }
    steps[kept] = now;
  }
  steps.resize(kept);
}

const Round& Rounds::resolved(const Binding& binding, int rank, std::size_t section, int round) {
  if (binding.revision == 0) {
    passing_.resolve(binding, rank, section, round);
    return passing_;
  }
  if (!kept_) kept_ = std::make_unique<Kept[]>(kMost);
  Kept& kept = at(binding, section, round);
  kept.revision = 0;  // should this throw
  kept.round.resolve(binding, rank, section, round);
  kept.revision = binding.revision;
  kept.section = section;
  kept.number = round;
  return kept.round;
}

}  // namespace weft

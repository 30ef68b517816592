// Where a step's operands lie: in the user's buffers, in the own slots, in a peer's memory.
#include "engine/run.h"
#include "weft/error.h"

namespace weft {

std::size_t Run::extent(const Step& step) const {
  if (step.extent.blocks == 0) return 0;
  return binding_->part(step.extent.buffer).size(step.extent.block.at(round_), step.extent.blocks);
}

Span Run::span(const Step& step, std::size_t chunk) const {
  std::size_t size = extent(step);
  if (!binding_->plan->program[section_].chunked) return {0, size};
  return chunk_of(size, binding_->chunk, chunk);
}

std::size_t Run::offset_of(const Operand& operand, const Span& span) const {
  std::size_t start = binding_->part(operand.buffer).offset(operand.range.block.at(round_));
  return (start + span.first) * binding_->element;
}

std::byte* Run::user(const Operand& operand, const Span& span) {
  std::size_t offset = offset_of(operand, span);
  if (is_me(operand)) return binding_->user[static_cast<std::size_t>(operand.buffer)] + offset;
  int owner = operand.rank.at(round_);
  const Remote& remote = remote_[static_cast<std::size_t>(owner)];
  Location where = operand.buffer == Buffer::kInput ? remote.input : remote.output;
  if (!where)
    throw InvalidArgument("rank " + std::to_string(owner) + "'s " +
                          std::string(name_of(operand.buffer)) +
                          " is not symmetric memory, which " + binding_->plan->shape.algorithm +
                          " reaches into: allocate it with weft.empty() on every rank, or "
                          "choose another algorithm");
  return lane_->endpoint.reach(binding_->member(owner), where + offset,
                               span.count * binding_->element);
}

std::byte* Run::reachable(const Operand& output, const Span& span) {
  int owner = output.rank.at(round_);
  Location where = remote_[static_cast<std::size_t>(owner)].output;
  if (!where) return nullptr;
  return lane_->endpoint.reach(binding_->member(owner), where + offset_of(output, span),
                               span.count * binding_->element);
}

const std::byte* Run::received(int peer, int channel) {
  std::uint64_t number = lane_->stream(peer, channel).credited;
  Arrival arrival = lane_->endpoint.arrival(peer, channel, number);
  if (arrival.header->bytes <= kInlineBytes) return arrival.inlined;
  if (arrival.header->delivered) return binding_->user[1] + arrival.header->input.bits;
  return lane_->endpoint.reach(peer, arrival.header->input, arrival.header->bytes);
}

std::size_t Run::slot_offset(int channel) const {
  const Channel& shape = binding_->plan->shape.channels[static_cast<std::size_t>(channel)];
  std::uint64_t turn = lane_->sent[static_cast<std::size_t>(channel_of(channel))] %
                       static_cast<std::uint64_t>(shape.slots);
  return slot_base_[static_cast<std::size_t>(channel)] + turn * binding_->slot_bytes(shape);
}

bool Run::slot_is_free(std::size_t begin, std::size_t end) {
  int reader = lane_->slots.reader_of(lane_->endpoint, begin, end);
  if (reader != Slots::kFree) blocked_on_ = reader;
  return reader == Slots::kFree;
}

std::byte* Run::own_slot(int channel, std::size_t bytes) {
  Filled& filled = filled_[static_cast<std::size_t>(channel)];
  filled.data = filled.inlined.data();
  if (bytes > kInlineBytes) {
    std::size_t begin = slot_offset(channel);
    if (!slot_is_free(begin, begin + bytes)) return nullptr;
    filled.data = lane_->slots.at(begin);
  }
  filled.full = true;
  filled.bytes = bytes;
  return filled.data;
}

bool Run::targets(const Step& step, const Span& span) {
  targets_.clear();
  for (const Operand& operand : step.dst) {
    if (operand.buffer != Buffer::kSlot) {
      targets_.push_back({user(operand, span), false});
      continue;
    }
    bool wide = binding_->plan->shape.channels[operand.channel].wide;
    std::size_t bytes = span.count * (wide ? binding_->accumulator : binding_->element);
    std::byte* slot = own_slot(operand.channel, bytes);
    if (!slot) return false;
    targets_.push_back({slot, wide});
  }
  return true;
}

}  // namespace weft

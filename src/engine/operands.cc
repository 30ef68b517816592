// The addresses of a step's operands: in the user's buffers, in the own slots, in a peer's memory.
#include <atomic>

#include "engine/run.h"
#include "weft/error.h"

namespace weft {

std::byte* Run::in_peer_buffer(const Place& place, const Span& span) {
  const PeerBuffers& theirs = peer_buffers_[static_cast<std::size_t>(place.owner)];
  const Location where = place.buffer == Buffer::kInput ? theirs.input : theirs.output;
  if (!where) out_of_reach(place);
  read_in_place_ = true;
  std::byte* const data =
      lane_->endpoint.reach(binding_->member(place.owner), where + offset_of(place, span),
                            span.count * binding_->element);
  if (!data) out_of_reach(place);
  return data;
}

void Run::out_of_reach(const Place& place) const {
  const std::string theirs = "rank " + std::to_string(place.owner);
  if (!lane_->endpoint.about(binding_->member(place.owner)).loads)
    throw Unsupported(theirs + " shares no memory with this rank, and " +
                      binding_->plan->shape.algorithm +
                      " reads there what it did not send: choose another algorithm");
  throw InvalidArgument(theirs + "'s " + std::string(name_of(place.buffer)) +
                        " is not symmetric memory, which " + binding_->plan->shape.algorithm +
                        " reaches into: allocate it with weft.empty() on every rank, or "
                        "choose another algorithm");
}

void Run::confirm_reads() const {
  // acquire: the reads come before the look. Pairs with the abort, after which alone the owner of
  // what was read has its buffers back.
  std::atomic_thread_fence(std::memory_order_acquire);
  check_not_aborted(lane_->endpoint);
}

void Run::past_the_end(const Place& place) const {
  refuse("reaches past the end of its " + std::string(name_of(place.buffer)));
}

[[gnu::hot]] const std::byte* Run::received(const Place& slot, std::size_t elements) {
  const int peer = slot.owner, channel = binding_->first_channel + slot.channel;
  LaneState::Traffic& with = lane_->traffic(peer, channel);
  if (with.credited == with.waited) [[unlikely]]
    refuse("reads a message of rank " + std::to_string(peer) + " that it has not received");
  const Delivery here = lane_->endpoint.payload(peer, channel, with.credited, out_.buffers);
  if (here.bytes != elements * binding_->bytes_in(slot.width)) [[unlikely]]
    refuse("reads " + std::to_string(elements) + " elements of a message of rank " +
           std::to_string(peer) + " with " + std::to_string(here.bytes) + " bytes");
  read_in_place_ |= here.in_place;
  if (here.returned) with.back = here.data;
  return here.data;
}

[[gnu::hot]] Slots::Spot Run::spot(int channel) const {
  const Channel& shape = binding_->plan->shape.channels[static_cast<std::size_t>(channel)];
  const std::uint64_t number =
      lane_->sent[static_cast<std::size_t>(binding_->first_channel + channel)];
  const std::size_t base = binding_->slots[static_cast<std::size_t>(channel)];
  const std::size_t bytes = binding_->slot_bytes(shape), places = binding_->places;
  const auto turn = static_cast<std::size_t>(number / static_cast<std::uint64_t>(shape.slots) %
                                             static_cast<std::uint64_t>(places));
  const std::size_t slot = slot_of(number, shape) * bytes;
  return {base + slot, base * places + turn * static_cast<std::size_t>(shape.slots) * bytes + slot};
}

[[gnu::hot]] bool Run::slot_is_free(Slots::Spot spot, std::size_t bytes) {
  int reader = lane_->slots.reader_of(lane_->endpoint, spot, bytes);
  if (reader != Slots::kFree) blocked_on_ = reader;
  return reader == Slots::kFree;
}

[[gnu::hot]] std::byte* Run::own_slot(int channel, std::size_t bytes) {
  Filled& filled = filled_[static_cast<std::size_t>(channel)];
  filled.data = filled.inlined.data();
  if (bytes > kInlineBytes) {
    const Slots::Spot at = spot(channel);
    if (!slot_is_free(at, bytes)) return nullptr;
    filled.data = lane_->slots.at(at.place);
  }
  full_[static_cast<std::size_t>(channel)] = true;
  filled.bytes = bytes;
  return filled.data;
}

[[gnu::hot]] bool Run::targets(const ResolvedStep& now, const Span& span) {
  targets_.resize(static_cast<std::size_t>(now.targets));
  const Place* to = now.into;
  for (kernels::Target& result : targets_) {
    std::byte* data;
    if (!target(*to, span, data)) return false;
    result = {data, to->wide};
    ++to;
  }
  return true;
}

}  // namespace weft

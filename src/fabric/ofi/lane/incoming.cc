#include "fabric/ofi/lane/incoming.h"

namespace weft::ofi {

Inbox& Incoming::inbox(std::size_t channel) {
  if (!made_[channel]) {
    made_[channel] = std::make_unique<Inbox>();
    // release: the inbox goes before its address.
    inboxes_[channel].store(made_[channel].get(), std::memory_order_release);
  }
  return *made_[channel];
}

bool Incoming::take_message(Arrived& arrived) {
  const Packet& packet = *reinterpret_cast<const Packet*>(arrived->buffer);
  const std::uint64_t known = credits_[packet.channel].load(std::memory_order_relaxed);
  take_credit(packet.channel, credits_near(known, packet.credits));
  return inbox(packet.channel).take_packet(arrived);
}

bool Incoming::take_write(std::size_t channel, std::uint32_t number) {
  return inbox(channel).take_write(number);
}

void Incoming::take_credit(std::size_t channel, std::uint64_t total) {
  // relaxed: only the thread that takes packets changes it, one at a time. Credits may pass each
  // other.
  if (total <= credits_[channel].load(std::memory_order_relaxed)) return;
  // release: what the member has read is read.
  credits_[channel].store(total, std::memory_order_release);
}

bool Incoming::finish(int channel, std::uint64_t number) {
  // relaxed: this thread has seen the message.
  return inboxes_[static_cast<std::size_t>(channel)]
      .load(std::memory_order_relaxed)
      ->finish(number);
}

Shown Incoming::at(int channel, std::uint64_t number) const {
  // acquire: pairs with the release in inbox().
  const Inbox* const inbox =
      inboxes_[static_cast<std::size_t>(channel)].load(std::memory_order_acquire);
  return inbox ? inbox->at(number) : Shown{};
}

}  // namespace weft::ofi

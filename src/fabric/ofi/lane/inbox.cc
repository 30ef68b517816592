#include "fabric/ofi/lane/inbox.h"

#include <cstring>
#include <utility>

namespace weft::ofi {
namespace {

// Whether the sender has taken the payload back. The lane has failed there.
bool broken(const MessagePacket& packet) {
  if (packet.tail == 0) return false;
  const bool delivered = packet.flags & MessagePacket::kDelivered;
  Seal seal;
  std::memcpy(&seal, packet.body + (delivered ? sizeof(Location) : packet.bytes), sizeof seal);
  return seal != Seal::kWhole;
}

}  // namespace

bool Inbox::take_packet(Arrived& arrived) {
  const auto& packet = *reinterpret_cast<const MessagePacket*>(arrived->buffer);
  if (arrived->length < MessagePacket::kHead) return false;
  if (packet.tail != 0 && packet.tail != sizeof(Seal)) return false;
  const bool delivered = packet.flags & MessagePacket::kDelivered;
  const bool with_payload = !delivered && arrived->length == packet.with_payload();
  const bool with_place =
      packet.bytes > kInlineBytes &&
      arrived->length == (delivered ? MessagePacket::kAfterPayload : MessagePacket::kWithPlace);
  if (!with_payload && !with_place) return false;
  // relaxed, here and below: only writers change it, one at a time.
  const std::uint64_t first = shown_.load(std::memory_order_relaxed);
  const std::uint64_t number = packet.packet.number;
  if (number < first || number >= first + kDepth) return false;
  if (broken(packet)) return true;
  Entry& entry = entries_[number % kDepth];
  if (entry.packet) return false;
  entry.header = {};
  entry.header.signature = packet.signature;
  entry.header.bytes = packet.bytes;
  entry.header.own = delivered ? kDelivered : 0;
  if (packet.flags & MessagePacket::kExposes) entry.header.output = kExposed;
  entry.payload = nullptr;
  if (packet.bytes <= kInlineBytes) {
    std::memcpy(entry.body, packet.body, packet.bytes);
    entry.payload = entry.body;
  } else if (with_payload) {
    entry.payload = packet.body;
    entry.kept = std::move(arrived);
  } else {
    std::memcpy(&entry.place, packet.body, sizeof entry.place);
  }
  entry.packet = true;
  advance();
  return true;
}

bool Inbox::finish(std::uint64_t number) {
  Entry& entry = entries_[number % kDepth];
  entry.kept = nullptr;
  return entry.payload != nullptr || entry.header.own == kDelivered;
}

bool Inbox::take_write(std::uint32_t number) {
  Entry& entry = entries_[number % kDepth];
  if (entry.written) return false;
  entry.written = true;
  advance();
  return true;
}

void Inbox::advance() {
  std::uint64_t shown = shown_.load(std::memory_order_relaxed);
  const std::uint64_t before = shown;
  for (; entries_[shown % kDepth].whole(); ++shown) {
    Entry& entry = entries_[shown % kDepth];
    entry.packet = entry.written = false;
  }
  // release: who sees the number sees the entries below it, and their payloads.
  if (shown != before) shown_.store(shown, std::memory_order_release);
}

}  // namespace weft::ofi

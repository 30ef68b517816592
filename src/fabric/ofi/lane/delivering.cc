// Peers that write into the caller's output: how a lane lets them, and how it makes sure that no
// peer does any more.
#include <cstring>
#include <thread>

#include "fabric/ofi/lane/endpoint.h"

namespace weft::ofi {
namespace {

// For shorter messages, the packet that follows costs as much as the copy that it saves.
constexpr std::size_t kLeastExposed = 1 << 20, kLeastDelivered = 256 << 10;

}  // namespace

bool OfiEndpoint::may_deliver(const Outgoing& out, const Reader& reader) const {
  return out.aimed && !out.passing && reader.output && parts_.port->delivers() &&
         out.bytes >= kLeastDelivered && out.bytes <= parts_.port->eager();
}

void OfiEndpoint::expose(std::span<std::byte> output) {
  if (!parts_.port->delivers() || output.size() < kLeastExposed) return;
  exposed_ = std::make_unique<Registration>(parts_.port, output.data(), output.size(),
                                            Registration::Use::kWrite, kOutputKeys + first_pair_);
}

// To deregister would not be enough: what has begun to arrive would go on.
void OfiEndpoint::retract(Clock::time_point until) {
  for (const Peer& peer : peers_) {
    if (peer.remote) peer.remote->bar(peer.pair);
  }
  for (const Peer& peer : peers_) {
    while (may_still_deliver(peer) && Clock::now() < until) {
      parts_.port->progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (may_still_deliver(peer)) peer.remote->cut_off();
  }
  exposed_.reset();
}

bool OfiEndpoint::may_still_deliver(const Peer& peer) const {
  if (!peer.remote || peer.remote->at_rest(peer.pair)) return false;
  if (!peer.remote->is_lost()) return true;
  // libfabric reports that a peer is gone only if something is sent to it.
  const Packet nothing{.pair = peer.pair, .kind = PacketKind::kCredit};
  parts_.port->send(peer.remote->link(), &nothing, sizeof nothing, {});
  return true;
}

void OfiEndpoint::deliver(const Outgoing& out, const Reader& reader, MessagePacket& packet) {
  Peer& to = at(reader.peer);
  packet.flags |= MessagePacket::kDelivered;
  packet.tail = sizeof(Seal);
  const std::uint64_t offset = reader.offset;
  std::memcpy(packet.body, &offset, sizeof offset);
  // The peer numbers its pairs of a lane one after the other.
  const std::uint64_t key = kOutputKeys + to.pair - static_cast<std::uint32_t>(me_);
  parts_.port->deliver(to.remote->link(), packet, {nullptr, out.source, out.bytes}, key,
                       WriteMark::of(packet.packet), account(reader.peer), to.barred);
}

void OfiEndpoint::bar(std::size_t place) { peers_[place].barred.store(true); }

}  // namespace weft::ofi

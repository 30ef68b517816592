// What peers write into the caller's output: how a lane lets them, and how it makes sure that none
// does any more.
#include <cstring>
#include <thread>

#include "fabric/ofi/lane/endpoint.h"

namespace weft::ofi {
namespace {

// Where messages are shorter, the packet that follows costs what the copy does that it saves.
constexpr std::size_t kLeastExposed = 1 << 20, kLeastDelivered = 256 << 10;

}  // namespace

bool OfiEndpoint::lands(int, std::size_t bytes) const {
  return parts_.port->delivers() && bytes >= kLeastDelivered && bytes <= parts_.port->eager();
}

void OfiEndpoint::expose(std::byte* output, std::size_t bytes) {
  if (!parts_.port->delivers() || bytes < kLeastExposed) return;
  exposed_ = std::make_unique<Registration>(parts_.port, output, bytes, Registration::Use::kWrite,
                                            kOutputKeys + first_pair_);
}

// To deregister would not be enough: what has begun to arrive would go on.
void OfiEndpoint::retract(Clock::time_point until) {
  for (const Peer& peer : peers_) {
    if (peer.remote) peer.remote->bar(peer.pair);
  }
  for (const Peer& peer : peers_) {
    while (may_deliver(peer) && Clock::now() < until) {
      parts_.port->progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (may_deliver(peer)) peer.remote->cut_off();
  }
  exposed_.reset();
}

bool OfiEndpoint::may_deliver(const Peer& peer) const {
  if (!peer.remote || peer.remote->at_rest(peer.pair)) return false;
  if (!peer.remote->is_lost()) return true;
  // Of a peer that is gone libfabric says so only to who sends something.
  const Packet nothing{.pair = peer.pair, .kind = PacketKind::kCredit};
  parts_.port->send(peer.remote->link(), &nothing, sizeof nothing, {});
  return true;
}

void OfiEndpoint::deliver(int peer, MessagePacket& packet, const Header& header,
                          const void* payload) {
  Peer& to = at(peer);
  packet.flags |= MessagePacket::kDelivered;
  packet.tail = sizeof(Seal);
  std::memcpy(packet.body, &header.input, sizeof header.input);
  // The peer numbers its pairs of a lane one after the other.
  const std::uint64_t key = kOutputKeys + to.pair - static_cast<std::uint32_t>(me_);
  parts_.port->deliver(to.remote->link(), packet,
                       {nullptr, static_cast<const std::byte*>(payload), header.bytes}, key,
                       WriteMark::of(packet.packet), account(peer), to.barred);
}

void OfiEndpoint::bar(std::size_t place) { peers_[place].barred.store(true); }

}  // namespace weft::ofi

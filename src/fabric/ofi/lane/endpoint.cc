#include "fabric/ofi/lane/endpoint.h"

#include <cassert>
#include <cstring>
#include <thread>
#include <utility>

#include "fabric/location.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// How long peers get to take what a failed lane has sent them from the caller's memory, and to
// finish what they deliver there.
constexpr std::chrono::seconds kLastWay(1);
}  // namespace

OfiEndpoint::OfiEndpoint(Parts parts, const std::vector<std::shared_ptr<Remote>>& members, int me)
    : Endpoint(kDepth),
      parts_(std::move(parts)),
      me_(me),
      unsent_(std::make_shared<Unsent>(members.size())),
      peers_(members.size()) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    peers_[i].remote = members[i];
    if (members[i]) members[i]->life().attach(&ending_.trouble());
  }
  first_pair_ = parts_.lanes->enrol(this, members);
}

OfiEndpoint::~OfiEndpoint() {
  if (mark_.forked()) return;
  parts_.lanes->withdraw(first_pair_, peers_.size());
  for (Peer& peer : peers_) {
    if (peer.remote) peer.remote->life().detach(&ending_.trouble());
  }
}

void OfiEndpoint::post(int peer, int channel, std::uint64_t number, const Header& header,
                       const void* payload) {
  assert(peer != me_);
  mark_.check();
  Peer& to = at(peer);
  Stream& stream = this->stream(peer, channel);
  MessagePacket packet;
  packet.packet = {.pair = to.pair,
                   .kind = PacketKind::kMessage,
                   .channel = static_cast<std::uint8_t>(channel),
                   .credits = static_cast<std::uint16_t>(stream.due),
                   .number = number};
  stream.told = stream.due;
  stream.bytes = 0;
  stream.posted.add(header.bytes);
  packet.flags = exposed_ ? MessagePacket::kExposes : 0;
  packet.signature = header.signature;
  packet.bytes = header.bytes;
  Link& link = to.remote->link();
  if (header.bytes <= kInlineBytes) {
    if (header.bytes > 0) std::memcpy(packet.body, payload, header.bytes);
    return parts_.port->send(link, &packet, packet.with_payload(), account(peer));
  }
  if (header.delivered) return deliver(peer, packet, header, payload);
  Payload lying = lies_at(header, payload);
  packet.tail = lying.source ? 0 : sizeof(Seal);
  if (header.bytes <= parts_.port->eager()) {
    return parts_.port->send(link, &packet, MessagePacket::kHead, std::move(lying), account(peer));
  }
  const std::uint32_t segment = segment_of(header.input);
  if (to.asked != segment) to.remote->ask(segment, lying.source->bytes);
  to.asked = segment;
  parts_.port->write(link, std::move(lying), WriteMark::of(packet.packet), account(peer));
  std::memcpy(packet.body, &header.input, sizeof header.input);
  parts_.port->send(link, &packet, MessagePacket::kWithPlace, account(peer));
}

Payload OfiEndpoint::lies_at(const Header& header, const void* payload) {
  if (!header.input) return {nullptr, static_cast<const std::byte*>(payload), header.bytes};
  const std::uint32_t segment = segment_of(header.input);
  if (!source_ || source_->segment != segment) source_ = parts_.sources->find(segment);
  const std::uint64_t offset = offset_of(header.input);
  if (!source_ || offset > source_->bytes || header.bytes > source_->bytes - offset) {
    throw InternalError("a payload lies outside of the memory that is sent from");
  }
  return {source_, source_->data + offset, header.bytes};
}

Arrival OfiEndpoint::arrival(int peer, int channel, std::uint64_t number) {
  const Incoming& from = at(peer).incoming;
  if (const Arrival here = from.at(channel, number); here.header) return here;
  parts_.port->poke();
  return from.at(channel, number);
}

void OfiEndpoint::credit(int peer, int channel, std::uint64_t total) {
  mark_.check();
  Peer& to = at(peer);
  Stream& stream = this->stream(peer, channel);
  bool place = false;  // at the peer, which may be waiting for it
  for (; stream.due < total; ++stream.due) {
    stream.bytes += to.incoming.at(channel, stream.due).header->bytes;
    place |= !to.incoming.let_go(channel, stream.due);
  }
  if (!place && total - stream.told < kCreditsHeld && stream.bytes < kBytesHeld) return;
  stream.told = total;
  stream.bytes = 0;
  const Packet credit{.pair = to.pair,
                      .kind = PacketKind::kCredit,
                      .channel = static_cast<std::uint8_t>(channel),
                      .number = total};
  parts_.port->send(to.remote->link(), &credit, sizeof credit, account(peer));
}

bool OfiEndpoint::credited(int peer, int channel, std::uint64_t total) {
  const Incoming& from = at(peer).incoming;
  if (from.credits(channel) >= total) return true;
  parts_.port->poke();
  return from.credits(channel) >= total;
}

bool OfiEndpoint::reusable(int peer, int channel, std::uint64_t number, std::size_t bytes) {
  if (credited(peer, channel, number + 1)) return true;
  const std::uint64_t first = at(peer).incoming.credits(channel);
  // acquire: pairs with the release in Port::finish().
  return bytes <= parts_.port->eager() && stream(peer, channel).posted.bytes(first) < kBytesAhead &&
         unsent_->by_peer[static_cast<std::size_t>(peer)].load(std::memory_order_acquire) == 0;
}

std::byte* OfiEndpoint::reach(int peer, Location where, std::size_t bytes) {
  Peer& from = at(peer);
  const Mirror* const mirror =
      from.reached.find(from.remote->mirrors(), segment_of(where), [this] { return troubled(); });
  if (!mirror) {
    const std::string lost = from.remote->lost();
    if (!lost.empty()) throw PeerLost(rank(static_cast<std::size_t>(peer)) + lost);
    throw InternalError("a peer named memory that it has not sent from");
  }
  const std::uint64_t offset = offset_of(where);
  if (offset > mirror->bytes() || bytes > mirror->bytes() - offset) {
    throw InternalError("a peer named memory outside of its segment");
  }
  return mirror->data() + offset;
}

int OfiEndpoint::unsent() {
  // acquire: pairs with the release in Port::finish().
  if (unsent_->all.load(std::memory_order_acquire) == 0) return kNobody;
  parts_.port->poke();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (unsent_->by_peer[i].load(std::memory_order_acquire) > 0 && !peers_[i].remote->is_lost()) {
      return static_cast<int>(i);
    }
  }
  // What a lost one has not got, it gets no more, and whoever asks has the memory back.
  parts_.port->break_seals(*unsent_);
  return kNobody;
}

bool OfiEndpoint::recall() {
  const auto until = Clock::now() + kLastWay;
  while (unsent() != kNobody && Clock::now() < until) std::this_thread::yield();
  parts_.port->break_seals(*unsent_);
  if (exposed_) retract(until);
  return true;
}

// relaxed, twice: a progress report orders nothing.
void OfiEndpoint::entered(std::uint64_t sequence) {
  entered_.store(sequence, std::memory_order_relaxed);
}
std::uint64_t OfiEndpoint::last_entered() const { return entered_.load(std::memory_order_relaxed); }

std::optional<std::uint64_t> OfiEndpoint::last_entered(int peer) {
  return at(peer).remote->progress_of(at(peer).pair);
}

std::string OfiEndpoint::whereabouts(int peer) const {
  return peers_[static_cast<std::size_t>(peer)].remote->address().process();
}

std::string OfiEndpoint::lost(int peer) {
  return at(peer).remote->is_lost() ? at(peer).remote->lost() : std::string();
}

void OfiEndpoint::abort(const std::string& why) {
  mark_.check();
  for (const Peer& peer : peers_) {
    if (peer.remote) peer.remote->mark_aborted();
  }
  if (!ending_.end(why)) return;
  parts_.bell->ring();
  // acquire: pairs with the release in connect().
  if (!connected_.load(std::memory_order_acquire)) return;
  for (Peer& peer : peers_) {
    if (peer.remote) peer.remote->tell_abort(peer.pair, why);
  }
}

bool OfiEndpoint::troubled() const {
  // relaxed: a hint to look closer.
  return ending_.trouble().load(std::memory_order_relaxed) != 0;
}

std::string OfiEndpoint::why_aborted() const { return ending_.why(); }

void OfiEndpoint::take_joined(std::size_t place) { peers_[place].incoming.take_joined(); }

bool OfiEndpoint::take_message(std::size_t place, Arrived& packet) {
  return peers_[place].incoming.take_message(packet);
}

bool OfiEndpoint::take_write(std::size_t place, int channel, std::uint32_t number) {
  return peers_[place].incoming.take_write(static_cast<std::size_t>(channel), number);
}

void OfiEndpoint::take_credit(std::size_t place, int channel, std::uint64_t total) {
  peers_[place].incoming.take_credit(static_cast<std::size_t>(channel), total);
}

void OfiEndpoint::take_abort(std::size_t place, std::uint64_t sent, const std::string& why) {
  ending_.hear(peers_[place].remote, sent, why);
  parts_.bell->ring();
}

}  // namespace weft::ofi

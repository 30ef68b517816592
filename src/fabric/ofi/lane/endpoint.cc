#include "fabric/ofi/lane/endpoint.h"

#include <thread>
#include <utility>

namespace weft::ofi {
namespace {

// How long peers get to take what a failed lane has sent them from the caller's memory, and to
// finish what they deliver there.
constexpr std::chrono::seconds kLastDeliveries(1);
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

void OfiEndpoint::credit(int peer, int channel, std::uint64_t total) {
  mark_.check();
  Peer& to = at(peer);
  ChannelState& state = state_of(peer, channel);
  bool place = false;  // at the peer, which may be waiting for it
  for (; state.due < total; ++state.due) {
    state.bytes += to.incoming.at(channel, state.due).header->bytes;
    place |= !to.incoming.finish(channel, state.due);
  }
  if (!place && total - state.told < kCreditsHeld && state.bytes < kBytesHeld) return;
  state.told = total;
  state.bytes = 0;
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

bool OfiEndpoint::settled(int peer, int channel, std::uint64_t number, std::size_t bytes) {
  if (credited(peer, channel, number + 1)) return true;
  const std::uint64_t first = at(peer).incoming.credits(channel);
  // acquire: pairs with the release in Port::finish().
  return bytes <= parts_.port->eager() &&
         state_of(peer, channel).posted.bytes(first) < kBytesAhead &&
         unsent_->by_peer[static_cast<std::size_t>(peer)].load(std::memory_order_acquire) == 0;
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

void OfiEndpoint::begin(std::uint64_t sequence, std::span<std::byte> written) {
  // relaxed, as in last_entered(): a progress report orders nothing.
  entered_.store(sequence, std::memory_order_relaxed);
  if (!written.empty()) expose(written);
}

int OfiEndpoint::end(Outcome outcome) {
  if (outcome == Outcome::kDone) {
    const int peer = unsent();
    if (peer == kNobody) exposed_.reset();
    return peer;
  }
  const auto until = Clock::now() + kLastDeliveries;
  while (unsent() != kNobody && Clock::now() < until) std::this_thread::yield();
  parts_.port->break_seals(*unsent_);
  if (exposed_) retract(until);
  return kNobody;
}

std::uint64_t OfiEndpoint::last_entered() const { return entered_.load(std::memory_order_relaxed); }

std::optional<std::uint64_t> OfiEndpoint::last_begun(int peer) {
  return at(peer).remote->progress_of(at(peer).pair);
}

PeerState OfiEndpoint::about(int peer) const {
  return {peers_[static_cast<std::size_t>(peer)].remote->address().process()};
}

std::string OfiEndpoint::lost(int peer) {
  if (!at(peer).remote->is_lost()) return {};
  // A peer that took everything and then left is known to have taken it: poke() may have left the
  // completion to another thread.
  parts_.port->progress();
  return at(peer).remote->lost();
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

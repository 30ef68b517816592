// How the members of a lane come together.
#include <algorithm>
#include <chrono>
#include <thread>

#include "fabric/ofi/lane/endpoint.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// How long who answers waits for who speaks first.
constexpr std::chrono::seconds kFirstWord(1);

}  // namespace

std::string OfiEndpoint::ticket() const { return ticket_of(first_pair_, peers_.size(), me_); }

void OfiEndpoint::connect(const std::vector<std::string>& tickets, Clock::time_point deadline) {
  mark_.check();
  std::vector<bool> wanted;
  for (const Peer& peer : peers_) wanted.push_back(peer.remote != nullptr);
  const std::vector<std::uint64_t> pairs = parse_tickets(tickets, wanted);
  for (std::size_t i = 0; i < peers_.size(); ++i)
    peers_[i].pair = static_cast<std::uint32_t>(pairs[i]) + static_cast<std::uint32_t>(me_);
  join_peers(deadline);
  // release: an abort() on another thread sees the peers' pairs.
  connected_.store(true, std::memory_order_release);
}

// One rank of two speaks first, on every rail. If both begin a connection at once, the two meet and
// the provider keeps one. "tcp" of libfabric 2.5 on two rails kept none in 3 of 80 runs. If the
// first is not let in, the other one's connection is used by both.
void OfiEndpoint::join_peers(Clock::time_point deadline) {
  const auto join = [this](std::size_t place) {
    const Packet joined{.pair = peers_[place].pair, .kind = PacketKind::kJoined};
    parts_.port->send_on_every_rail(peers_[place].remote->link(), &joined, sizeof joined,
                                    account(static_cast<int>(place)));
  };
  std::vector<std::size_t> answers;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i].remote) continue;
    if (peers_[i].remote->speaks_first()) {
      answers.push_back(i);
    } else {
      join(i);
    }
  }
  const auto patience = std::min(deadline, Clock::now() + kFirstWord);
  for (const std::size_t i : answers) {
    if (!joined_by(i, patience) && patience == deadline) throw late(i);
    join(i);
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].remote && !joined_by(i, deadline)) throw late(i);
  }
}

bool OfiEndpoint::joined_by(std::size_t place, Clock::time_point deadline) {
  const Peer& peer = peers_[place];
  const std::size_t rails = parts_.port->rails();
  while (peer.incoming.joined() < rails) {
    // Lost is read before joined: what it sent before it left is here.
    const std::string lost = peer.remote->lost();
    if (!lost.empty() && peer.incoming.joined() < rails) throw PeerLost(rank(place) + lost);
    if (Clock::now() > deadline) return false;
    parts_.port->poke();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

Timeout OfiEndpoint::late(std::size_t place) const {
  const Address& address = peers_[place].remote->address();
  return Timeout(rank(place) + "it has not connected to the lane, or " + address.provider +
                 " does not reach its " + address.process());
}

}  // namespace weft::ofi

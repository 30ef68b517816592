#include "fabric/shm/endpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/members.h"
#include "fabric/ticket.h"
#include "weft/error.h"

namespace weft::shm {

ShmEndpoint::ShmEndpoint(std::shared_ptr<Segments> segments, std::shared_ptr<Mapping> doorbell,
                         const std::vector<std::shared_ptr<Remote>>& members, int me,
                         Clock::duration patience)
    : Endpoint(kDepth),
      segments_(std::move(segments)),
      doorbell_(std::move(doorbell)),
      block_(segments_->allocate(LaneSegment::bytes(members.size()), MemoryUse::kInternal)),
      mapping_(segments_->find(segment_of(block_.where))->mapping),
      lane_(reinterpret_cast<LaneSegment*>(block_.data)),
      me_(me),
      patience_(patience),
      returned_(segments_) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    Peer peer{.reached = Reached(members[i])};
    peer.ours = lane_->inbox(static_cast<int>(i));
    peers_.push_back(std::move(peer));
    if (members[i]) members[i]->life().attach(&lane_->head.trouble);
  }
}

ShmEndpoint::~ShmEndpoint() {
  if (mark_.forked()) return;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (is_peer(i)) peers_[i].reached.remote().life().detach(&lane_->head.trouble);
  }
  segments_->release(block_);
}

std::string ShmEndpoint::ticket() const { return ticket_of(block_.where.bits, peers_.size(), me_); }

void ShmEndpoint::connect(const std::vector<std::string>& tickets, Clock::time_point deadline) {
  mark_.check();
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < peers_.size(); ++i)
    wanted.push_back(is_peer(i) || static_cast<int>(i) == me_);
  const std::vector<std::uint64_t> where = parse_tickets(tickets, wanted);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (is_peer(i)) peers_[i].reached.remote().ask(segment_of({where[i]}));
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!is_peer(i)) continue;
    naming(i, [&] { map_lane(peers_[i], {where[i]}, deadline); });
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!is_peer(i)) continue;
    // relaxed: it says that all is mapped here, and the peer reads nothing of that. If we leave
    // next, the end of the socket brings this store along: the kernel's locks order the two.
    peers_[i].theirs->joined.store(1, std::memory_order_relaxed);
    ring(*peers_[i].bell);
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (is_peer(i)) naming(i, [&] { await_joined(i, deadline); });
  }
  // release: an abort() on another thread sees the peers' lanes.
  connected_.store(true, std::memory_order_release);
}

void ShmEndpoint::map_lane(Peer& peer, Location where, Clock::time_point deadline) {
  const auto reach = [&](Location place, std::size_t bytes) {
    return peer.reached.reach(place, bytes, deadline - Clock::now(), [] { return false; });
  };
  peer.lane_mapping = peer.reached.remote().segment(segment_of(where), deadline);
  peer.lane = reinterpret_cast<LaneSegment*>(reach(where, LaneSegment::bytes(peers_.size())));
  peer.theirs = peer.lane->inbox(me_);
  peer.bell =
      reinterpret_cast<Doorbell*>(reach(location_of(kDoorbellSegment, 0), sizeof(Doorbell)));
}

void ShmEndpoint::await_joined(std::size_t place, Clock::time_point deadline) {
  Doorbell& bell = *reinterpret_cast<Doorbell*>(doorbell_->data());
  // relaxed: see connect().
  const auto joined = [&] { return peers_[place].ours->joined.load(std::memory_order_relaxed); };
  while (!joined()) {
    // Lost is read before joined: what it stored before it left is there.
    const std::string lost = peers_[place].reached.remote().lost();
    if (!lost.empty() && !joined()) throw PeerLost(lost);
    if (Clock::now() > deadline) throw Timeout("it has not connected to the lane");
    const std::uint32_t announced = announce(bell);
    if (joined()) {
      retire(bell);
    } else {
      sleep(bell, announced);
    }
  }
}

[[gnu::hot]] void ShmEndpoint::credit(int peer, int channel, std::uint64_t total) {
  mark_.check();
  Peer& to = at(peer);
  std::uint64_t& taken = to.taken[static_cast<std::size_t>(channel)];
  for (; taken < total; ++taken) {
    const Entry& entry = to.ours->box[channel].entry(taken);
    if (transfer_of(entry.header) == Transfer::kLent) borrow(to, entry);
  }
  // release: our reads of the messages end before their room is used again.
  to.theirs->credits[channel].total.store(total, std::memory_order_release);
  ring(*to.bell);
}

[[gnu::hot]] bool ShmEndpoint::credited(int peer, int channel, std::uint64_t total) {
  Peer& from = at(peer);
  std::uint64_t& known = from.credits[static_cast<std::size_t>(channel)];
  if (known >= total) return true;
  // acquire: pairs with the release in credit().
  known = from.ours->credits[channel].total.load(std::memory_order_acquire);
  return known >= total;
}

[[gnu::hot]] void ShmEndpoint::begin(std::uint64_t sequence, std::span<std::byte>) {
  // relaxed, as in last_begun(): a progress report orders nothing.
  lane().head.entered.store(sequence, std::memory_order_relaxed);
}
std::optional<std::uint64_t> ShmEndpoint::last_begun(int peer) {
  return at(peer).lane->head.entered.load(std::memory_order_relaxed);
}

PeerState ShmEndpoint::about(int peer) const {
  return {peers_[static_cast<std::size_t>(peer)].reached.remote().address().process(), true};
}

std::string ShmEndpoint::lost(int peer) { return at(peer).reached.remote().lost(); }

// Each member writes its text into a place of its own before it claims to be the first. So the text
// of a claimed lane is always whole.
void ShmEndpoint::record_abort(LaneSegment& lane, const std::string& why) const {
  Inbox& own = *lane.inbox(me_);
  const std::size_t length = std::min(why.size(), Inbox::kWhyBytes - 1);
  std::memcpy(own.why, why.data(), length);
  own.why[length] = 0;
  std::uint32_t none = 0;
  // release: the text goes before the claim. relaxed: who comes second reads nothing.
  lane.head.aborted_by.compare_exchange_strong(none, static_cast<std::uint32_t>(me_) + 1,
                                               std::memory_order_release,
                                               std::memory_order_relaxed);
  // release: all that this member sent, and its claim, go before the trouble.
  lane.head.trouble.store(1, std::memory_order_release);
}

void ShmEndpoint::abort(const std::string& why) {
  mark_.check();
  std::lock_guard lock(aborting_);
  if (std::exchange(aborted_, true)) return;
  record_abort(lane(), why);
  ring(*reinterpret_cast<Doorbell*>(doorbell_->data()));
  // acquire: pairs with the release in connect().
  if (!connected_.load(std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!is_peer(i)) continue;
    record_abort(*peers_[i].lane, why);
    ring(*peers_[i].bell);
  }
}

[[gnu::hot]] bool ShmEndpoint::troubled() const {
  // relaxed: a hint to look closer.
  return lane().head.trouble.load(std::memory_order_relaxed) != 0;
}

std::string ShmEndpoint::why_aborted() const {
  // acquire: after trouble was seen, the claim is not read from before it.
  if (lane().head.trouble.load(std::memory_order_acquire) == 0) return {};
  // acquire: pairs with the release in record_abort().
  const std::uint32_t by = lane().head.aborted_by.load(std::memory_order_acquire);
  if (by == 0 || by > peers_.size()) return {};
  const char* const why = lane().inbox(static_cast<int>(by) - 1)->why;
  return {why, ::strnlen(why, Inbox::kWhyBytes)};
}

}  // namespace weft::shm

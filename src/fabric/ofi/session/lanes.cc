#include "fabric/ofi/session/lanes.h"

#include <cstring>

#include "weft/error.h"

namespace weft::ofi {
namespace {

// False: it makes no sense.
bool deliver(LaneReceiver& lane, std::size_t place, const Packet& packet, Arrived& arrived) {
  if (packet.channel >= kMaxChannels) return false;
  switch (packet.kind) {
    case PacketKind::kJoined:
      lane.take_joined(place);
      return true;
    case PacketKind::kCredit:
      lane.take_credit(place, packet.channel, packet.number);
      return true;
    case PacketKind::kMessage:
      return lane.take_message(place, arrived);
  }
  return false;
}

}  // namespace

std::uint32_t Lanes::enrol(LaneReceiver* lane,
                           const std::vector<std::shared_ptr<Remote>>& members) {
  std::lock_guard lock(mutex_);
  const std::size_t first = pairs_.size();
  if (first + members.size() > kMostPairs) {
    throw Unsupported(
        "this fabric has had 8 million peers in its lanes, the most there can be; make fewer "
        "communicators and keep them");
  }
  for (std::size_t place = 0; place < members.size(); ++place) {
    pairs_.push_back({lane, place, members[place]});
  }
  return static_cast<std::uint32_t>(first);
}

void Lanes::withdraw(std::uint32_t first, std::size_t members) {
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < members; ++i) pairs_[first + i].lane = nullptr;
}

Lanes::Pair* Lanes::find(std::uint32_t pair) {
  return pair < pairs_.size() ? &pairs_[pair] : nullptr;
}

Lanes::Pair* Lanes::find(std::uint32_t number, const Token& from) {
  Pair* const pair = find(number);
  const auto remote = pair ? pair->remote.lock() : nullptr;
  return remote && remote->address().token == from && pair->lane ? pair : nullptr;
}

void Lanes::arrived(const Pair& pair, bool makes_sense) {
  if (const auto remote = pair.remote.lock()) {
    // A peer of the same version sends no nonsense: what it sends further is not to be trusted.
    if (!makes_sense) remote->lose_connection("it sent what makes no sense");
    remote->count_arrival();
  }
  bell_->ring();
}

void Lanes::take_packet(Arrived& from) {
  std::lock_guard lock(mutex_);
  Packet packet;
  if (from->length < sizeof packet) return;
  std::memcpy(&packet, from->buffer, sizeof packet);
  Pair* const pair = find(packet.pair);
  if (!pair) return;
  arrived(*pair, !pair->lane || deliver(*pair->lane, pair->place, packet, from));
}

void Lanes::take_write(WriteMark mark) {
  std::lock_guard lock(mutex_);
  Pair* const pair = find(mark.pair);
  if (!pair) return;
  arrived(*pair, !pair->lane || pair->lane->take_write(pair->place, static_cast<int>(mark.channel),
                                                       mark.number));
}

void Lanes::take_broken_link(Link& link, const std::string& why) {
  std::lock_guard lock(mutex_);
  for (const Pair& pair : pairs_) {
    const auto remote = pair.remote.lock();
    if (remote && &remote->link() == &link) return remote->lose_connection(why);
  }
}

void Lanes::take_abort(std::uint32_t number, const Token& from, std::uint64_t sent,
                       const std::string& why) {
  std::lock_guard lock(mutex_);
  if (Pair* const pair = find(number, from)) pair->lane->take_abort(pair->place, sent, why);
}

void Lanes::bar(std::uint32_t number, const Token& from) {
  std::lock_guard lock(mutex_);
  if (Pair* const pair = find(number, from)) pair->lane->bar(pair->place);
}

std::uint64_t Lanes::last_entered(std::uint32_t pair) const {
  std::lock_guard lock(mutex_);
  return pair < pairs_.size() && pairs_[pair].lane ? pairs_[pair].lane->last_entered() : 0;
}

}  // namespace weft::ofi

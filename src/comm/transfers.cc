// The messages between a sender and a receiver: see the three streams in point_to_point.h.
#include <cstring>

#include "comm/point_to_point.h"
#include "weft/error.h"

namespace weft {

namespace {

constexpr int kEnvelope = 0;
constexpr int kGo = 1;
constexpr int kData = 2;

}  // namespace

bool PointToPoint::room(int peer, int channel) {
  return endpoint_->room(peer, channel, state_.traffic(peer, channel).posted);
}

void PointToPoint::post(int peer, int channel, const Signature& signature, const void* payload,
                        std::size_t bytes) {
  Reader reader{.peer = peer, .number = state_.traffic(peer, channel).posted++};
  endpoint_->post({.readers = {&reader, 1},
                   .channel = channel,
                   .signature = signature,
                   .source = static_cast<const std::byte*>(payload),
                   .bytes = bytes});
}

bool PointToPoint::announce(int peer, Finished& finished) {
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  bool moved = false;
  while (!to.to_announce.empty() && room(peer, kEnvelope)) {
    Owned send = std::move(to.to_announce.front());
    to.to_announce.pop_front();
    send->number = ++to.next_number;
    Signature signature;
    signature.count = send->count;
    signature.plan = static_cast<std::uint32_t>(send->tag);
    signature.sequence = send->number;
    signature.collective = static_cast<std::uint8_t>(Collective::kSendRecv);
    signature.dtype = static_cast<std::uint8_t>(send->dtype);
    bool eager = send->bytes() <= kInlineBytes;
    post(peer, kEnvelope, signature, send->data, eager ? send->bytes() : 0);
    if (eager)
      finish(std::move(send), nullptr, finished);
    else
      to.announced[send->number] = std::move(send);
    moved = true;
  }
  return moved;
}

bool PointToPoint::take_envelopes(int peer, Finished& finished) {
  LaneState::Traffic& with = state_.traffic(peer, kEnvelope);
  bool moved = false;
  for (;;) {
    const Header* const arrived = endpoint_->arrival(peer, kEnvelope, with.waited);
    if (!arrived) return moved;
    const Signature& signature = arrived->signature;
    Envelope envelope{peer, static_cast<int>(signature.plan), signature, {}};
    const Delivery eager = endpoint_->payload(peer, kEnvelope, with.waited, {});
    envelope.eager.assign(eager.data, eager.data + eager.bytes);
    ++with.waited;
    endpoint_->credit(peer, kEnvelope, ++with.credited);
    moved = true;
    if (auto match = matcher_.arrived(std::move(envelope)))
      met(std::move(match->first), std::move(match->second), finished);
  }
}

void PointToPoint::met(Owned receive, Envelope envelope, Finished& finished) {
  auto theirs = static_cast<DType>(envelope.signature.dtype);
  Peer& from = peers_[static_cast<std::size_t>(envelope.source)];
  receive->peer = receive->state->source = envelope.source;
  receive->number = envelope.signature.sequence;
  if (envelope.signature.count != receive->count || theirs != receive->dtype) {
    std::string text = rank_text(me_) + " receives " + std::to_string(receive->count) + " " +
                       std::string(name_of(receive->dtype)) + " with tag " +
                       std::to_string(receive->tag) + ", " + rank_text(envelope.source) +
                       " sends " + std::to_string(envelope.signature.count) + " " +
                       std::string(name_of(theirs)) + ": give both the same count and dtype";
    from.incoming.push_back(std::move(receive));  // where its failure finds it
    throw Mismatch(text);
  }
  if (receive->bytes() <= kInlineBytes) {
    if (!envelope.eager.empty())
      std::memcpy(receive->data, envelope.eager.data(), envelope.eager.size());
    finish(std::move(receive), nullptr, finished);
    return;
  }
  from.goes.push_back(receive->number);
  from.incoming.push_back(std::move(receive));
}

bool PointToPoint::send_goes(int peer) {
  Peer& from = peers_[static_cast<std::size_t>(peer)];
  bool moved = false;
  while (!from.goes.empty() && room(peer, kGo)) {
    Signature signature;
    signature.sequence = from.goes.front();
    from.goes.pop_front();
    post(peer, kGo, signature, nullptr, 0);
    moved = true;
  }
  return moved;
}

bool PointToPoint::take_goes(int peer) {
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  LaneState::Traffic& with = state_.traffic(peer, kGo);
  bool moved = false;
  for (;;) {
    const Header* const arrived = endpoint_->arrival(peer, kGo, with.waited);
    if (!arrived) return moved;
    auto send = to.announced.extract(arrived->signature.sequence);
    ++with.waited;
    endpoint_->credit(peer, kGo, ++with.credited);
    if (send.empty()) throw InternalError(rank_text(peer) + " answers a send that was not made");
    to.outgoing.push_back(std::move(send.mapped()));
    moved = true;
  }
}

void PointToPoint::begin(Operation& operation) {
  int source = operation.sends ? me_ : operation.peer;
  int destination = operation.sends ? operation.peer : me_;
  planner_.bind_transfer(operation.binding, operation.data, operation.count, operation.dtype,
                         source, destination);
  operation.binding.signature.sequence = operation.number;
  operation.binding.first_channel = kData;
  if (!state_.slots.leased()) state_.slots.lease(engine_->arenas().lease());
  operation.run = std::make_unique<Run>();
  const Binding& binding = operation.binding;
  operation.run->start(binding, state_, operation.sends ? 0 : 1, binding.user[0]);
}

bool PointToPoint::transfer(std::deque<Owned>& queue, bool look, Pace pace, Finished& finished) {
  bool moved = false;
  while (!queue.empty()) {
    Operation& first = *queue.front();
    if (!first.run) {
      begin(first);
      moved = true;
    }
    if (!first.run->advance(pace)) {
      if (first.run->paused()) return true;
      if (look || endpoint_->troubled())
        examine(*first.run, *endpoint_, me_, members_, 0, first.deadline, first.state->timeout);
      if (first.run->went()) engine_->note_progress();
      return moved;
    }
    Owned done = std::move(queue.front());
    queue.pop_front();
    finish(std::move(done), nullptr, finished);
    moved = true;
    if (pace == Pace::kOneTrip) break;
  }
  return moved;
}

}  // namespace weft

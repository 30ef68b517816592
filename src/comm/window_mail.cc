#include "comm/window_mail.h"

#include <algorithm>
#include <array>
#include <string>

#include "comm/rank_text.h"
#include "kernels/copy.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr int kPuts = 0;  // the channel
constexpr std::size_t kPieces = 16;
constexpr std::size_t kPiece = kSlotBytes / kPieces;

// What a message does besides its payload, in Signature::op.
enum : std::uint8_t { kSets = 1, kAdds = 2, kLeaves = 4 };

// A window's messages are compared with nobody's call: the signature says what to do.
//   count: offset; plan: signal; sequence, root, scale: its value
Signature signature_of(const WindowMail::Put& put, bool last) {
  Signature signature;
  signature.count = put.offset + put.sent;
  if (put.leaves) signature.op = kLeaves;
  if (!put.update || !last) return signature;
  signature.op = put.update->op == SignalOp::kSet ? kSets : kAdds;
  signature.plan = static_cast<std::uint32_t>(put.update->signal);
  const std::uint64_t value = put.update->value;
  signature.sequence = static_cast<std::uint32_t>(value);
  signature.root = static_cast<std::uint16_t>(value >> 32);
  signature.scale = static_cast<std::uint16_t>(value >> 48);
  return signature;
}

SignalUpdate update_of(const Signature& signature) {
  const std::uint64_t high = signature.root | std::uint64_t{signature.scale} << 16;
  return {static_cast<int>(signature.plan), high << 32 | signature.sequence,
          signature.op & kSets ? SignalOp::kSet : SignalOp::kAdd};
}

}  // namespace

WindowMail::WindowMail(std::shared_ptr<Engine> engine, int priority,
                       std::unique_ptr<Endpoint> endpoint, int me, std::vector<bool> far,
                       const WindowPart& mine, std::shared_ptr<Fate> fate)
    : Driven(priority),
      engine_(std::move(engine)),
      endpoint_(std::move(endpoint)),
      me_(me),
      members_(static_cast<int>(far.size())),
      far_(std::move(far)),
      mine_(mine),
      fate_(std::move(fate)),
      driven_(std::ranges::count(far_, true) > 0),
      state_(*endpoint_, members_),
      to_send_(far_.size()) {
  fate_->add(endpoint_.get());
  engine_->attach(this);
  if (pending()) engine_->queued(true);
}

WindowMail::~WindowMail() {
  engine_->detach(this);
  fate_->remove(endpoint_.get());
  if (!state_.slots.leased()) return;
  const bool idle = state_.slots.idle(*endpoint_);
  engine_->arenas().give_back(state_.slots.release(), idle);
}

void WindowMail::submit(Put put) {
  bool over = false;
  {
    std::lock_guard lock(mutex_);
    over = over_;
    if (!over) {
      outstanding_.fetch_add(1, std::memory_order_relaxed);
      submitted_.push_back(std::make_unique<Put>(std::move(put)));
    }
  }
  if (!over) return engine_->queued(true);
  if (put.when_free) put.when_free();
}

bool WindowMail::step(bool, Pace pace, Finished& finished) {
  if (!pending()) return false;
  std::lock_guard lock(stepping_);
  if (failure_) return false;
  try {
    fate_->check(*endpoint_);
    bool moved = false;
    accept();
    for (int peer = 0; peer < members_; ++peer) {
      if (!far_[static_cast<std::size_t>(peer)]) continue;
      moved |= receive(peer);
      moved |= send(peer, pace, finished);
    }
    moved |= free_sources(finished);
    return moved;
  } catch (...) {
    fail(std::current_exception(), finished);
    return true;
  }
}

void WindowMail::examine(Finished& finished) {
  std::lock_guard lock(stepping_);
  if (failure_) return;
  try {
    fate_->check(*endpoint_);
    look_at_peers();
  } catch (...) {
    fail(std::current_exception(), finished);
  }
}

void WindowMail::accept() {
  std::lock_guard lock(mutex_);
  for (Owned& put : submitted_)
    to_send_[static_cast<std::size_t>(put->target)].push_back(std::move(put));
  submitted_.clear();
}

// At most a piece, if others go before.
bool WindowMail::send(int peer, Pace pace, Finished& finished) {
  auto& queue = to_send_[static_cast<std::size_t>(peer)];
  bool moved = false;
  while (!queue.empty() && !(moved && pace == Pace::kOneTrip) && send_piece(*queue.front())) {
    moved = true;
    if (!queue.front()->posted) continue;
    Owned put = std::move(queue.front());
    queue.pop_front();
    if (put->holding.empty())
      free(*put, finished);
    else
      sent_.push_back(std::move(put));
  }
  return moved;
}

// False: it cannot go yet.
bool WindowMail::send_piece(Put& put) {
  LaneState::Traffic& with = state_.traffic(put.target, kPuts);
  if (!endpoint_->room(put.target, kPuts, with.posted)) return false;
  Reader reader{.peer = put.target, .number = with.posted};
  Outgoing out{.readers = {&reader, 1}, .channel = kPuts};
  out.bytes = std::min(kPiece, put.bytes - put.sent);
  out.source = put.data + put.sent;
  const bool last = put.sent + out.bytes == put.bytes;
  out.signature = signature_of(put, last);
  Slot slot;
  if (out.bytes > kInlineBytes) {
    if (!state_.slots.leased()) state_.slots.lease(engine_->arenas().lease());
    const std::size_t begin = slots_used_ % kPieces * kPiece;
    slot = {state_.slots.at(begin), state_.slots.where(begin)};
    out.slot = &slot;
    endpoint_->prepare(out);
    if (reader.holds_slot) {
      const Slots::Spot spot{begin, begin};
      if (state_.slots.reader_of(*endpoint_, spot, out.bytes) != Slots::kFree) return false;
      state_.slots.note(spot, out.bytes, put.target, kPuts, reader.number);
      ++slots_used_;
    }
    if (reader.holds_source) put.holding.emplace_back(reader.number, out.bytes);
  }
  ++with.posted;
  endpoint_->post(out);
  put.sent += out.bytes;
  put.posted = last;
  return true;
}

bool WindowMail::receive(int peer) {
  LaneState::Traffic& with = state_.traffic(peer, kPuts);
  bool moved = false;
  while (const Header* const header = endpoint_->arrival(peer, kPuts, with.waited)) {
    apply(peer, *header, endpoint_->payload(peer, kPuts, with.waited, {}));
    ++with.waited;
    endpoint_->credit(peer, kPuts, ++with.credited);
    moved = true;
  }
  // A thread of this rank may sleep for the signal.
  if (moved) engine_->fabric()->ring();
  return moved;
}

void WindowMail::apply(int peer, const Header& header, const Delivery& delivery) {
  const Signature& signature = header.signature;
  const WindowShape& shape = mine_.shape();
  const bool signals = signature.op & (kSets | kAdds);
  if (signature.count > shape.bytes || delivery.bytes > shape.bytes - signature.count ||
      (signals && signature.plan >= static_cast<std::uint32_t>(shape.signals)))
    throw InternalError(rank_text(peer) + " has put outside of the window of " + rank_text(me_));
  if (delivery.bytes)
    kernels::copy(mine_.data() + signature.count, delivery.data, delivery.bytes, kernels::To::kOwn);
  if (signals) mine_.apply(update_of(signature));
  if (signature.op & kLeaves) mine_.leave(peer);
}

bool WindowMail::free_sources(Finished& finished) {
  return std::erase_if(sent_, [&](const Owned& put) {
           std::erase_if(put->holding, [&](const auto& message) {
             return endpoint_->settled(put->target, kPuts, message.first, message.second);
           });
           if (!put->holding.empty()) return false;
           free(*put, finished);
           return true;
         }) > 0;
}

void WindowMail::free(Put& put, Finished& finished) {
  if (put.when_free) finished.push_back(std::move(put.when_free));
  // release: the source is read no more.
  outstanding_.fetch_sub(1, std::memory_order_release);
}

void WindowMail::look_at_peers() {
  for (int peer = 0; peer < members_; ++peer) {
    if (peer == me_ || mine_.left(peer)) continue;
    const std::string lost = endpoint_->lost(peer);
    if (lost.empty()) continue;
    // What it sent before counts: it may have left.
    if (far_[static_cast<std::size_t>(peer)]) receive(peer);
    if (!mine_.left(peer))
      throw PeerLost(rank_text(peer) + " is lost: " + lost + "; " + rank_text(me_) +
                     " has a window with it");
  }
}

void WindowMail::fail(std::exception_ptr error, Finished& finished) {
  failure_ = std::move(error);
  fate_->end(reason(failure_, me_));
  stop_peer_writes(*endpoint_, *engine_->fabric(), {});
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  accept();
  to_send_.push_back(std::move(sent_));
  for (auto& queue : to_send_) {
    for (Owned& put : queue) free(*put, finished);
    queue.clear();
  }
  driven_.store(false, std::memory_order_release);
  failed_.store(true, std::memory_order_release);
}

bool WindowMail::failed() {
  if (failed_.load(std::memory_order_acquire)) return true;
  if (!endpoint_->troubled() && !fate_->ended()) return false;
  Finished finished;
  examine(finished);
  for (auto& callback : finished) callback();
  return failed_.load(std::memory_order_acquire);
}

void WindowMail::check() {
  if (!failed()) return;
  std::rethrow_exception(failure_);
}

bool WindowMail::alone() const {
  if (members_ == 1) return false;
  for (int peer = 0; peer < members_; ++peer)
    if (peer != me_ && !mine_.left(peer)) return false;
  return true;
}

bool WindowMail::drained() {
  if (failed()) return true;
  Finished finished;
  const bool drained = is_drained(finished);
  for (auto& callback : finished) callback();
  return drained;
}

bool WindowMail::is_drained(Finished& finished) {
  std::lock_guard lock(stepping_);
  accept();
  for (int peer = 0; peer < members_; ++peer) {
    auto& queue = to_send_[static_cast<std::size_t>(peer)];
    if (mine_.left(peer)) {
      for (Owned& put : queue) free(*put, finished);
      queue.clear();
    }
    if (!queue.empty()) return false;
  }
  return sent_.empty() && state_.slots.idle(*endpoint_) &&
         endpoint_->end(Outcome::kDone) == Endpoint::kNobody;
}

}  // namespace weft

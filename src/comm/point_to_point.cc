#include "comm/point_to_point.h"

#include "base/duration_text.h"
#include "weft/error.h"

namespace weft {

PointToPoint::PointToPoint(std::shared_ptr<Engine> engine, std::unique_ptr<Endpoint> endpoint,
                           int me, int members, std::shared_ptr<Fate> fate,
                           std::function<void()> interrupt, Planner& planner, int priority)
    : Driven(priority),
      engine_(std::move(engine)),
      endpoint_(std::move(endpoint)),
      me_(me),
      members_(members),
      fate_(std::move(fate)),
      interrupt_(std::move(interrupt)),
      planner_(planner),
      state_(*endpoint_, members),
      peers_(static_cast<std::size_t>(members)) {
  fate_->add(endpoint_.get());
  engine_->attach(this);
}

PointToPoint::~PointToPoint() {
  engine_->detach(this);
  fate_->remove(endpoint_.get());
  if (!state_.slots.leased()) return;
  bool idle = state_.slots.idle(*endpoint_);
  engine_->arenas().give_back(state_.slots.release(), idle);
}

std::shared_ptr<Request::State> PointToPoint::new_state(std::chrono::milliseconds timeout) const {
  return std::make_shared<Request::State>(engine_, timeout, interrupt_);
}

Request PointToPoint::send(const void* data, std::size_t count, DType dtype, int destination,
                           int tag, std::chrono::milliseconds timeout, bool wake) {
  // Operations of both kinds keep their buffer in one field; a send only reads it.
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(data));
  auto state = new_state(timeout);
  return submit(Owned(new Operation{true,
                                    bytes,
                                    count,
                                    dtype,
                                    destination,
                                    tag,
                                    std::move(state),
                                    Clock::now() + timeout,
                                    0,
                                    {},
                                    nullptr}),
                wake);
}

Request PointToPoint::receive(void* data, std::size_t count, DType dtype, int source, int tag,
                              std::chrono::milliseconds timeout, bool wake) {
  auto state = new_state(timeout);
  return submit(Owned(new Operation{false,
                                    static_cast<std::byte*>(data),
                                    count,
                                    dtype,
                                    source,
                                    tag,
                                    std::move(state),
                                    Clock::now() + timeout,
                                    0,
                                    {},
                                    nullptr}),
                wake);
}

Request PointToPoint::submit(Owned operation, bool wake) {
  fate_->check(*endpoint_);
  Request request(operation->state);
  {
    std::lock_guard lock(mutex_);
    open_.fetch_add(1, std::memory_order_release);
    submitted_.push_back(std::move(operation));
  }
  engine_->queued(wake);
  return request;
}

bool PointToPoint::step(bool look, Pace pace, Finished& finished) {
  std::lock_guard lock(stepping_);
  if (!pending()) return false;
  try {
    fate_->check();
    return advance(look, pace, finished);
  } catch (...) {
    fate_->end(reason(std::current_exception(), me_));
    fail_all(std::current_exception(), finished);
    return true;
  }
}

bool PointToPoint::advance(bool look, Pace pace, Finished& finished) {
  bool moved = accept(finished);
  moved |= exchange(look, pace, finished);
  if (!look && (moved || !endpoint_->troubled())) return moved;
  try {
    look_at_unmatched();
  } catch (...) {
    // Messages that a peer sent before it left or failed still count: go on as far as they lead.
    if (!exchange(false, pace, finished)) throw;
    moved = true;
  }
  return moved;
}

bool PointToPoint::exchange(bool look, Pace pace, Finished& finished) {
  bool moved = false;
  for (int peer = 0; peer < members_; ++peer) {
    if (peer == me_) continue;
    Peer& with = peers_[static_cast<std::size_t>(peer)];
    moved |= take_envelopes(peer, finished);
    moved |= take_goes(peer);
    moved |= send_goes(peer);
    moved |= announce(peer, finished);
    moved |= transfer(with.outgoing, look, pace, finished);
    moved |= transfer(with.incoming, look, pace, finished);
  }
  return moved;
}

PointToPoint::Owned PointToPoint::next_submitted() {
  std::lock_guard lock(mutex_);
  if (submitted_.empty()) return nullptr;
  Owned operation = std::move(submitted_.front());
  submitted_.pop_front();
  return operation;
}

bool PointToPoint::accept(Finished& finished) {
  bool moved = false;
  while (Owned operation = next_submitted()) {
    moved = true;
    if (operation->sends) {
      peers_[static_cast<std::size_t>(operation->peer)].to_announce.push_back(std::move(operation));
      continue;
    }
    int source = operation->peer, tag = operation->tag;
    if (auto match = matcher_.posted(source, tag, std::move(operation)))
      met(std::move(match->first), std::move(match->second), finished);
  }
  return moved;
}

void PointToPoint::finish(Owned operation, std::exception_ptr error, Finished& finished) {
  finished.push_back([state = operation->state, error] { state->finish(error); });
  open_.fetch_sub(1, std::memory_order_release);
}

void PointToPoint::fail_all(std::exception_ptr error, Finished& finished) {
  std::vector<const Binding*> incoming;
  for (const Peer& peer : peers_)
    for (const Owned& operation : peer.incoming) incoming.push_back(&operation->binding);
  stop_peer_writes(*endpoint_, *engine_->fabric(), incoming);
  while (Owned operation = next_submitted()) finish(std::move(operation), error, finished);
  for (auto& posted : matcher_.clear()) finish(std::move(posted.receive), error, finished);
  for (Peer& peer : peers_) {
    for (auto* queue : {&peer.to_announce, &peer.outgoing, &peer.incoming}) {
      for (Owned& operation : *queue) finish(std::move(operation), error, finished);
      queue->clear();
    }
    for (auto& [number, operation] : peer.announced) finish(std::move(operation), error, finished);
    peer.announced.clear();
  }
}

void PointToPoint::check_unmatched(const Operation& operation, const char* what) {
  bool any = operation.peer == kAnySource;
  std::string text = rank_text(me_) + " waits to " +
                     (operation.sends ? "send to " : "receive from ") +
                     (any ? "any rank" : rank_text(operation.peer)) + " with tag " +
                     std::to_string(operation.tag) + what;
  bool all_lost = true;
  std::string lost;
  for (int peer = 0; peer < members_; ++peer) {
    if (peer == me_ || !(any || peer == operation.peer)) continue;
    lost = endpoint_->lost(peer);
    all_lost &= !lost.empty();
  }
  if (all_lost) throw PeerLost(text + ", but " + (any ? "all are lost: " : "it is lost: ") + lost);
  if (Clock::now() > operation.deadline)
    throw Timeout("the timeout of " + duration_text(operation.state->timeout) +
                  " is over: " + text);
}

void PointToPoint::look_at_unmatched() {
  std::string why = endpoint_->why_aborted();
  if (!why.empty()) throw Aborted(why);
  for (const auto& posted : matcher_.waiting())
    check_unmatched(*posted.receive, ", which has sent nothing that fits");
  for (const Peer& peer : peers_) {
    for (const auto& [number, send] : peer.announced)
      check_unmatched(*send, ", which has not received it");
    for (const Owned& send : peer.to_announce)
      check_unmatched(*send, ", which takes no more sends");
  }
}

bool PointToPoint::drained() {
  if (fate_->ended(*endpoint_)) return true;
  std::lock_guard lock(stepping_);
  return !pending() && state_.slots.idle(*endpoint_);
}

}  // namespace weft

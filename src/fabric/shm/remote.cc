#include "fabric/shm/remote.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/process_state.h"
#include "fabric/doorbell.h"
#include "fabric/segments.h"
#include "weft/error.h"

namespace weft::shm {
namespace {

// connect() on a Unix socket waits, while the listener's queue is full, as long as
// sending may.
void limit_waiting(int socket, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now());
  const auto wait = std::max<std::int64_t>(left.count(), 1);
  const timeval limit{static_cast<time_t>(wait / 1'000'000),
                      static_cast<suseconds_t>(wait % 1'000'000)};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int connect_to(int socket, const Token& token) {
  const auto [name, length] = socket_of(token);
  int result;
  do {
    result = ::connect(socket, reinterpret_cast<const sockaddr*>(&name), length);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

// For a peer that did not say that it leaves. The socket's end is a death's as a rule, but not
// always; the kernel knows which process it was.
std::string how_it_ended(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  switch (state_of(peer.pid)) {
    case ProcessState::kLiving:
      return " lives, but its connection was cut";
    case ProcessState::kEnding:
      return " died";
    case ProcessState::kUnknown:
      break;
  }
  return " died, or its connection was cut";
}

std::exception_ptr released_segment() {
  return std::make_exception_ptr(PeerLost("it has released the memory that it named"));
}

}  // namespace

Remote::Remote(Address address, const Token& own, std::shared_ptr<Watcher> watcher,
               std::shared_ptr<Mapping> doorbell)
    : address_(std::move(address)),
      own_(own),
      watcher_(std::move(watcher)),
      doorbell_(std::move(doorbell)) {}

Remote::~Remote() {
  if (socket_) watcher_->forget(socket_.get());
}

void Remote::dial(Clock::time_point deadline) {
  std::lock_guard once(dialling_);
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kUnknown) return;
  }
  LiveFd socket([] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); });
  if (!socket) throw Unsupported("no socket to it, " + errno_text("socket"));
  limit_waiting(socket.get(), deadline);
  const int error = connect_to(socket.get(), address_.token);
  if (error == EAGAIN || error == ETIMEDOUT)
    throw Timeout("its " + address_.process() + " does not accept connections");

  std::lock_guard lock(mutex_);
  if (error == ECONNREFUSED || (error == 0 && !same_user(socket.get()))) {
    lose(State::kLost);
    return;
  }
  if (error != 0) throw Unsupported("no connection to it, " + errno_text("connect", error));
  Notice hello;
  hello.kind = Kind::kHello;
  hello.token = own_;
  if (!send_notice(socket.get(), hello)) {
    lose(State::kLost);
    return;
  }
  const bool watched = watcher_->watch(socket.get(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_readable();
  });
  if (!watched) throw Unsupported("no watch over its socket, " + errno_text("epoll_ctl"));
  socket_ = std::move(socket);
  state_ = State::kDialled;
  ask_locked(kDoorbellSegment);
}

void Remote::ask(std::uint32_t id) {
  std::lock_guard lock(mutex_);
  ask_locked(id);
}

void Remote::ask_locked(std::uint32_t id) {
  if (state_ != State::kDialled && state_ != State::kWelcomed) return;
  if (segments_.contains(id) || refused_.contains(id) || !asked_.insert(id).second) return;
  Notice ask;
  ask.kind = Kind::kAsk;
  ask.token = own_;
  ask.segment = id;
  // If it cannot be sent the peer is gone, and the watcher says so.
  (void)send_notice(socket_.get(), ask);
}

std::shared_ptr<Mapping> Remote::segment(std::uint32_t id, Clock::time_point deadline) {
  mark_.check();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto found = segments_.find(id); found != segments_.end()) return found->second;
    if (const auto refused = refused_.extract(id)) std::rethrow_exception(refused.mapped());
    if (is_lost()) throw PeerLost(lost());
    ask_locked(id);
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      throw Timeout("its " + address_.process() + " does not answer");
    }
  }
}

void Remote::on_readable() {
  std::lock_guard lock(mutex_);
  for (;;) {
    const Received received = receive_notice(socket_.get());
    switch (received.what) {
      case Received::What::kNothing:
        return;
      case Received::What::kNotice:
        if (received.notice.token == address_.token) {
          take(received);
          break;
        }
        [[fallthrough]];
      case Received::What::kEnd:
      case Received::What::kNonsense:
        lose(state_ == State::kLeft ? State::kLeft : State::kLost);
        return;
    }
  }
}

void Remote::take(const Received& received) {
  const Notice& notice = received.notice;
  if (notice.kind == Kind::kWelcome) state_ = State::kWelcomed;
  if (notice.kind == Kind::kBye) state_ = State::kLeft;
  if (notice.kind == Kind::kGive) map(received);
  if (notice.kind == Kind::kGone) refused_[notice.segment] = released_segment();
  if (notice.kind == Kind::kGone || notice.kind == Kind::kGive) asked_.erase(notice.segment);
  changed_.notify_all();
}

void Remote::map(const Received& received) {
  const Notice& notice = received.notice;
  for (std::uint32_t i = 0; i < notice.released; ++i) {
    const auto found = segments_.find(notice.released_segments[i]);
    if (found == segments_.end()) continue;
    found->second->mark_released();
    segments_.erase(found);
  }
  try {
    if (!received.memory)
      throw Unsupported("no descriptor is left for the memory that it passed; raise ulimit -n");
    // In one process there is one mapping: ranks then share addresses as threads do.
    if (const auto local = std::static_pointer_cast<Segments>(find_local(address_.token))) {
      if (const auto segment = local->find(notice.segment)) {
        segments_[notice.segment] = segment->mapping;
      } else {
        refused_[notice.segment] = released_segment();
      }
    } else {
      segments_[notice.segment] = Mapping::of(received.memory.get(), notice.bytes, notice.offset);
    }
  } catch (const Unsupported&) {
    refused_[notice.segment] = std::current_exception();
  }
}

void Remote::lose(State state) {
  std::string why = "its process " + std::to_string(address_.pid);
  if (state == State::kLeft) {
    why += " left";
  } else {
    why += state_ == State::kWelcomed ? how_it_ended(socket_.get())
                                      : " is gone, or refused the connection";
  }
  state_ = state;
  if (socket_) watcher_->forget(socket_.get());
  socket_ = LiveFd();
  life_.end(why);
  ring(*reinterpret_cast<Doorbell*>(doorbell_->data()));
  changed_.notify_all();
}

}  // namespace weft::shm

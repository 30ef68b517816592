#include "fabric/ofi/session/remote.h"

#include <cerrno>
#include <thread>

#include "base/errno_text.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

constexpr std::chrono::milliseconds kAnswer(100);
constexpr std::chrono::milliseconds kPause(10);  // before the second dial; then twice as long

}  // namespace

Remote::Remote(Address address, const Token& own, Secret secret, std::shared_ptr<Port> port,
               std::shared_ptr<Watcher> watcher, std::shared_ptr<Bell> bell)
    : address_(std::move(address)),
      own_(own),
      secret_(std::move(secret)),
      challenge_(Token::random().hex()),
      port_(std::move(port)),
      watcher_(std::move(watcher)),
      bell_(std::move(bell)),
      link_(port_->link(address_.rails)),
      mirrors_(port_) {}

Remote::~Remote() {
  if (!mark_.forked() && talk_.fd() >= 0) watcher_->forget(talk_.fd());
}

void Remote::dial(Clock::time_point deadline) {
  std::lock_guard once(dialling_);
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kUnknown) return;
  }
  LiveFd socket = connect_to(address_, deadline);
  std::lock_guard lock(mutex_);
  if (!socket) {
    lose("its " + address_.process("is gone"));
    return;
  }
  talk_ = Talk(std::move(socket));
  state_ = State::kDialled;
  if (!send_locked(Kind::kHello, 0, 0, challenge_)) {
    if (!turned_away()) lose("its " + address_.process("is gone"));
    return;
  }
  const bool watched = watcher_->watch(talk_.fd(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_readable();
  });
  if (!watched) throw Unsupported("no watch over its socket, " + errno_text("epoll_ctl"));
}

void Remote::await_welcome(Clock::time_point deadline) {
  for (auto pause = kPause;; pause *= 2) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_until(lock, deadline, [this] { return state_ != State::kDialled; })) {
        throw Timeout("its " + address_.process() + " does not answer");
      }
      if (state_ == State::kLost) throw PeerLost(lost());
      if (state_ == State::kWelcomed) return;
    }
    std::this_thread::sleep_for(pause);
    dial(deadline);
  }
}

bool Remote::turned_away() {
  if (state_ != State::kDialled || --dials_left_ == 0) return false;
  watcher_->forget(talk_.fd());
  talk_ = Talk();
  state_ = State::kUnknown;
  changed_.notify_all();
  return true;
}

bool Remote::send_locked(Kind kind, std::uint32_t subject, std::uint64_t number,
                         const std::string& text) {
  if (talk_.fd() < 0 || state_ == State::kLost) return false;
  Notice notice;
  notice.head.kind = kind;
  notice.head.from = own_;
  notice.head.to = address_.token;
  notice.head.subject = subject;
  notice.head.base = number;
  notice.text = text;
  return talk_.send(notice);
}

// If it cannot be sent the peer is gone, and the watcher says so.
void Remote::tell(Kind kind, std::uint32_t subject) {
  std::lock_guard lock(mutex_);
  if (kind == Kind::kGone) asked_.erase(subject);
  (void)send_locked(kind, subject, 0);
}

void Remote::tell_abort(std::uint32_t pair, const std::string& why) {
  const std::uint64_t before = sent();
  std::lock_guard lock(mutex_);
  (void)send_locked(Kind::kAbort, pair, before, why);
}

void Remote::ask(std::uint32_t segment, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (asked_.insert(segment).second) (void)send_locked(Kind::kAsk, segment, bytes);
}

std::optional<std::uint64_t> Remote::progress_of(std::uint32_t pair) {
  std::unique_lock lock(mutex_);
  auto& answer = progress_[pair];
  answer.reset();
  if (send_locked(Kind::kProgress, pair, 0))
    changed_.wait_for(lock, kAnswer, [&] { return answer || state_ == State::kLost; });
  return answer;
}

void Remote::bar(std::uint32_t pair) {
  std::lock_guard lock(mutex_);
  barred_[pair].reset();
  (void)send_locked(Kind::kBar, pair, 0);
}

bool Remote::at_rest(std::uint32_t pair) const {
  // With several rails, perhaps only one has broken.
  if (port_->rails() == 1 && port_->broken(link_)) return true;
  std::lock_guard lock(mutex_);
  if (left_) return true;
  const auto answer = barred_.find(pair);
  // acquire: who sees the count sees what was counted.
  return answer != barred_.end() && answer->second &&
         arrived_.load(std::memory_order_acquire) >= *answer->second;
}

void Remote::on_readable() {
  for (;;) {
    Notice notice;
    const Talk::What what = talk_.receive(notice);
    switch (what) {
      case Talk::What::kNothing:
        return;
      case Talk::What::kNotice:
        if (notice.head.from == address_.token) {
          take(notice);
          break;
        }
        [[fallthrough]];
      case Talk::What::kEnd:
      case Talk::What::kCut:
      case Talk::What::kNonsense: {
        std::lock_guard lock(mutex_);
        if (what != Talk::What::kNonsense && turned_away()) return;
        const bool known = state_ == State::kWelcomed;
        lose("its " + address_.process(what == Talk::What::kCut ? "is out of reach"
                                       : known ? "died, or its connection was cut"
                                               : "is gone, or refused the connection"));
        return;
      }
    }
  }
}

void Remote::take(const Notice& notice) {
  const Notice::Head& head = notice.head;
  if (head.kind == Kind::kGive)
    port_->grant(link_, head.subject, {head.base, keys_of(notice.text)});
  std::lock_guard lock(mutex_);
  if (head.kind == Kind::kWelcome) check_welcome(notice);
  if (head.kind == Kind::kDone) done_ = true;
  if (head.kind == Kind::kProgress) progress_[head.subject] = head.base;
  if (head.kind == Kind::kBar) barred_[head.subject] = head.base;
  changed_.notify_all();
}

// A peer with another secret is noticed here, on both sides: each dials the other.
void Remote::check_welcome(const Notice& notice) {
  const std::string theirs = notice.text.substr(0, challenge_.size());
  const std::string signature = notice.text.substr(theirs.size());
  if (!secret_.signed_by(signature, {"listener", own_.hex(), challenge_, theirs})) {
    lose("its " + address_.process("was not let in") +
         ": it knows another WEFT_SECRET, or none; set the same on all ranks");
    return;
  }
  state_ = State::kWelcomed;
  (void)send_locked(Kind::kProof, 0, 0,
                    secret_.sign({"dialler", address_.token.hex(), challenge_, theirs}));
}

// Both sequentially consistent: of a bye and the last arrival, one sees the other.
void Remote::count_arrival() {
  if (arrived_.fetch_add(1) + 1 >= leaves_after_.load()) left();
}

bool Remote::has_arrived(std::uint64_t sent) const {
  // acquire: who sees the count sees what was counted.
  return arrived_.load(std::memory_order_acquire) >= sent || is_lost();
}

void Remote::hear_bye(std::uint64_t sent) {
  leaves_after_.store(sent);
  if (arrived_.load() >= sent) left();
}

void Remote::left() {
  std::lock_guard lock(mutex_);
  if (state_ == State::kLost) return;
  left_ = true;
  (void)send_locked(Kind::kDone, 0, 0);
  lose("its " + address_.process("left"));
}

void Remote::hear_done() {
  std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

void Remote::say_bye(Clock::time_point deadline) {
  std::int64_t sent = -1;
  while (!is_lost() && (sent = port_->settled(link_)) < 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::lock_guard lock(mutex_);
  if (sent >= 0) said_bye_ = send_locked(Kind::kBye, 0, static_cast<std::uint64_t>(sent));
}

void Remote::await_done(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline,
                      [this] { return !said_bye_ || done_ || state_ == State::kLost; });
}

bool Remote::is_settled() const {
  std::lock_guard lock(mutex_);
  return left_ || (done_ && !aborted_.load(std::memory_order_relaxed));
}

void Remote::lose_connection(const std::string& why) {
  std::lock_guard lock(mutex_);
  lose("its " + address_.process("died, or the network to it failed") + ": " + why);
}

void Remote::lose(const std::string& why) {
  if (state_ == State::kLost) return;
  state_ = State::kLost;
  // Handlers run one at a time: what is read is read by now, and the end is no news.
  if (talk_.fd() >= 0) watcher_->forget(talk_.fd());
  life_.end(why);
  bell_->ring();
  changed_.notify_all();
}

}  // namespace weft::ofi

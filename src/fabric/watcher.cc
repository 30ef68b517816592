#include "fabric/watcher.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/errno_text.h"
#include "weft/error.h"

namespace weft {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Unsupported("cannot watch for peers, " + why);
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Watcher::Watcher()
    : epoll_([] { return ::epoll_create1(EPOLL_CLOEXEC); }),
      stop_([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }) {
  if (!epoll_ || !stop_) refuse(errno_text("epoll_create"));
  if (!watch(stop_.get(), [] {})) refuse(errno_text("epoll_ctl"));
  SignalsBlocked blocked;
  const auto body = [](void* self) -> void* {
    static_cast<Watcher*>(self)->run();
    return nullptr;
  };
  const int error = ::pthread_create(&thread_, nullptr, body, this);
  if (error != 0) refuse(errno_text("pthread_create", error) + "; raise ulimit -u");
  running_ = true;
  ::pthread_setname_np(thread_, "weft-watcher");
}

bool Watcher::watch(int fd, Handler handler) {
  std::lock_guard lock(mutex_);
  handlers_[fd] = std::make_shared<const Handler>(std::move(handler));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return true;
  const int error = errno;
  handlers_.erase(fd);
  errno = error;
  return false;
}

void Watcher::forget(int fd) {
  if (mark_.forked()) return;
  std::lock_guard lock(mutex_);
  if (handlers_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Watcher::stop() {
  if (!running_ || mark_.forked()) return;
  running_ = false;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  ::pthread_join(thread_, nullptr);
}

void Watcher::run() {
  // One event at a time, so that none is left over for a descriptor just forgotten.
  for (epoll_event event{};;) {
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, -1);
    if (ready < 0 && errno != EINTR) return;
    if (ready <= 0) continue;
    if (event.data.fd == stop_.get()) return;
    NoFork no_fork;
    std::shared_ptr<const Handler> handler;
    {
      std::lock_guard lock(mutex_);
      const auto found = handlers_.find(event.data.fd);
      if (found != handlers_.end()) handler = found->second;
    }
    if (handler) (*handler)();
  }
}

}  // namespace weft

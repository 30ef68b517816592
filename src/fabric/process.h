// The little that the fabrics of one process share: which of them live here, and what a
// forked child must not keep.
//
// A peer notices our death by the end of our sockets. A forked child would hold them open
// and hide it, so the child closes them first thing; fabrics made before the fork refuse to
// work in it, and their destructors leave everything alone. Fabrics that the child
// makes afterwards are its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "fabric/token.h"

namespace weft {

class Fabric;

// What a fabric has in the process that a fork must find whole, under its own name.
class Forkable {
 public:
  virtual ~Forkable() = default;
  // Held across the fork.
  virtual void lock_for_fork() = 0;
  virtual void unlock_after_fork() = 0;
  // In the child, between the two.
  virtual void detach_in_child() = 0;
};

// Remembers where an object was made: here, or in an ancestor of this forked process. Thread safe.
class ForkMark {
 public:
  ForkMark() : made_(forks_.load(std::memory_order_relaxed)) {}
  // relaxed: fork itself orders the child after what came before.
  bool forked() const { return made_ != forks_.load(std::memory_order_relaxed); }
  // Throws Unsupported in a forked child.
  void check() const {
    if (forked()) [[unlikely]]
      refuse();
  }

 private:
  [[noreturn]] static void refuse();

  friend class ForkHandler;
  static std::atomic<std::uint32_t> forks_;
  std::uint32_t made_;
};

// While one exists no fork happens: around short changes of what a forked child destroys.
// Must not nest, and nothing may block under it.
class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
};

// A descriptor that a forked child closes. Move-only.
class LiveFd {
 public:
  LiveFd() = default;
  // `make` returns a new descriptor or -1, without blocking: no fork falls between the
  // descriptor and its enrolment. errno is make's.
  explicit LiveFd(const std::function<int()>& make);
  LiveFd(LiveFd&& other) noexcept { swap(other); }
  LiveFd& operator=(LiveFd&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LiveFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  void swap(LiveFd& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(mark_, other.mark_);
  }

  int fd_ = -1;
  ForkMark mark_;
};

// The object that the fabric named `token` enrolled; null: no such fabric lives here. Thread safe.
std::shared_ptr<Forkable> find_local(const Token& token);
void enrol_local(const Token& token, std::shared_ptr<Forkable> enrolled);
void withdraw_local(const Token& token);

// The fabric that all communicators of this process share under `name`, while anybody holds it. A
// forked child has none.
std::shared_ptr<Fabric> default_fabric(const std::string& name);
// Keeps `fabric` under its name, unless another thread was first; returns the one kept.
std::shared_ptr<Fabric> keep_default_fabric(const std::shared_ptr<Fabric>& fabric);

}  // namespace weft

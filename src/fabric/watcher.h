// A thread that sleeps in epoll until one of its descriptors has something to say.
#pragma once

#include <pthread.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "fabric/process.h"

namespace weft {

// Signals are the application's: while a thread of ours is made, all are blocked, for its own
// threads to take.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Thread safe. Handlers run on the watcher's thread, one at a time, and must not block
// or throw. In a forked child it does nothing.
class Watcher {
 public:
  using Handler = std::function<void()>;

  // Throws Unsupported if the system has no thread or descriptor left.
  Watcher();
  ~Watcher() { stop(); }

  // Calls `handler` whenever `fd` is readable or has ended. False: the system watches no
  // more, errno says why.
  [[nodiscard]] bool watch(int fd, Handler handler);
  // Before `fd` is closed. Its handler may be running; it will not be called again.
  void forget(int fd);
  // After this no handler runs any more.
  void stop();

 private:
  void run();

  ForkMark mark_;
  LiveFd epoll_;
  LiveFd stop_;  // readable: the thread is to end
  std::mutex mutex_;
  std::map<int, std::shared_ptr<const Handler>> handlers_;
  // Not a std::thread: in a forked child, where it does not exist, it can neither be
  // joined nor detached.
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace weft

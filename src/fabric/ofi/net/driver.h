// A thread that drives a port where nobody else does: while no rank is in a call, or all that are
// sleep.
//
// As long as somebody polls it looks now and then whether that is still so, first after a
// millisecond, then ever more rarely. When nobody polls, or a thread is about to sleep, it waits
// for the port's descriptors instead, and takes what comes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <vector>

#include "fabric/ofi/net/port.h"
#include "fabric/process.h"

namespace weft::ofi {

// Thread safe.
class Driver {
 public:
  // Throws Unsupported if the system has no thread or descriptor left.
  explicit Driver(std::shared_ptr<Port> port);
  ~Driver();
  Driver(const Driver&) = delete;

  // A thread is about to sleep until something arrives; and is up again.
  void enter_sleep();
  void leave_sleep();

 private:
  void run();
  // False: it is over.
  bool watch_pollers();
  bool wait_for_port();
  bool wait(const std::vector<int>& descriptors, int milliseconds);
  void wake();

  const std::shared_ptr<Port> port_;
  const ForkMark mark_;
  LiveFd wake_;  // readable: something has changed
  std::atomic<bool> stop_{false};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> watching_{false};  // the pollers, not the port
  // Not a std::thread: in a forked child, where it does not exist, it can neither be joined nor
  // detached.
  pthread_t thread_{};
};

}  // namespace weft::ofi

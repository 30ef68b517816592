// A listening socket, on the watcher's thread.
#pragma once

#include "fabric/process.h"

namespace weft {

// One thread.
class Acceptor {
 public:
  explicit Acceptor(LiveFd listener);

  int fd() const { return listener_.get(); }
  // The next connection; an unusable descriptor if there is none, or if this process has no
  // descriptor left. In the second case the connection is closed: in the queue it would keep the
  // watcher awake forever.
  LiveFd accept();

 private:
  void turn_away();

  LiveFd listener_;
  LiveFd spare_;  // given up for a moment when no descriptor is left to accept with
};

}  // namespace weft

// Keeps strangers from taking this process's descriptors through the port of libfabric's provider.
// The provider accepts every connection and waits forever for its first words.
#pragma once

#include <string>
#include <vector>

#include "fabric/watcher.h"

namespace weft::ofi {

// Looks four times a second whether many descriptors are in use that were not before; only then at
// the provider's connections. Connections to which it has answered nothing are strangers.
// Works on the watcher's thread only; construct it before it watches.
class Doorkeeper {
 public:
  // `names` of the endpoints, which are socket addresses; others have no such port.
  // Throws Unsupported if the system has no descriptor left.
  Doorkeeper(std::vector<std::string> names, Watcher& watcher);

 private:
  void look();
  void set_alarm(long nanoseconds);

  const std::vector<std::string> names_;
  LiveFd alarm_;
  bool hurried_ = false;
  int quiet_ = 0;  // the lowest free descriptor when there were no strangers
};

}  // namespace weft::ofi

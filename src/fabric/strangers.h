// Connections at a listener that have not yet shown who they are.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "fabric/fabric.h"
#include "fabric/watcher.h"

namespace weft {

// Bounds them in number and in time, so that an outsider who opens connections and says nothing
// cannot take the process's descriptors. The oldest is dropped first.
// Works on the watcher's thread only; construct it before it watches.
class Strangers {
 public:
  // How long a connection may stay one.
  static constexpr std::chrono::seconds kPatience{5};
  // How many there may be that have said nothing right. A rank of the job says who it is as soon as
  // it has connected. So even many ranks that come at once are seldom strangers at the same time.
  static constexpr std::size_t kMost = 64;
  // Closes a connection, and calls forget().
  using Drop = std::function<void(int fd)>;

  // Throws Unsupported if the system has no descriptor left.
  Strangers(Watcher& watcher, std::size_t most, Drop drop);

  // Drops the oldest if there are too many.
  void add(int fd);
  // It is known now, or closed.
  void forget(int fd);

 private:
  void expire();
  void set_alarm(Clock::duration from_now);

  const std::size_t most_;
  const Drop drop_;
  LiveFd alarm_;
  std::deque<std::pair<int, Clock::time_point>> waiting_;  // the oldest first
};

// A quarter of the descriptors that this process may have.
std::size_t quarter_of_descriptors();

}  // namespace weft

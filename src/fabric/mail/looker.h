// A thread that looks for mail while others sleep where no mail wakes them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "fabric/process.h"

namespace weft::mail {

inline constexpr auto kLookEvery = std::chrono::microseconds(50);

// Thread safe. It calls `look` from begin() to end(), which count.
class Looker {
 public:
  // Throws Unsupported if the system has no thread left.
  explicit Looker(std::function<void()> look);
  ~Looker();
  Looker(const Looker&) = delete;

  void begin();
  void end();

 private:
  void run();

  const std::function<void()> look_;
  const ForkMark mark_;
  std::atomic<std::uint32_t> wanted_{0};
  std::atomic<bool> stop_{false};
  // Not a std::thread: in a forked child, where it does not exist, it can neither be joined nor
  // detached.
  pthread_t thread_{};
};

}  // namespace weft::mail

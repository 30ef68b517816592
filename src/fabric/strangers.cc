#include "fabric/strangers.h"

#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/errno_text.h"
#include "weft/error.h"

namespace weft {

Strangers::Strangers(Watcher& watcher, std::size_t most, Drop drop)
    : most_(most),
      drop_(std::move(drop)),
      alarm_([] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }) {
  if (!alarm_ || !watcher.watch(alarm_.get(), [this] { expire(); })) {
    throw Unsupported("cannot watch for strangers, " + errno_text("timerfd"));
  }
}

void Strangers::add(int fd) {
  if (waiting_.empty()) set_alarm(kPatience);
  waiting_.emplace_back(fd, Clock::now());
  if (waiting_.size() > most_) drop_(waiting_.front().first);
}

void Strangers::forget(int fd) {
  std::erase_if(waiting_, [fd](const auto& stranger) { return stranger.first == fd; });
}

void Strangers::expire() {
  std::uint64_t times;
  (void)!::read(alarm_.get(), &times, sizeof times);
  const auto now = Clock::now();
  while (!waiting_.empty() && waiting_.front().second + kPatience <= now)
    drop_(waiting_.front().first);
  if (!waiting_.empty()) set_alarm(waiting_.front().second + kPatience - now);
}

void Strangers::set_alarm(Clock::duration from_now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(from_now);
  itimerspec when{};
  when.it_value.tv_sec = seconds.count();
  when.it_value.tv_nsec = std::chrono::nanoseconds(from_now - seconds).count() + 1;
  ::timerfd_settime(alarm_.get(), 0, &when, nullptr);
}

std::size_t quarter_of_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<std::size_t>(limit.rlim_cur / 4, Strangers::kMost, 4096);
}

}  // namespace weft

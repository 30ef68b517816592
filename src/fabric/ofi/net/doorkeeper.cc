#include "fabric/ofi/net/doorkeeper.h"

#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/errno_text.h"
#include "fabric/ofi/net/connections.h"
#include "fabric/strangers.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// Nanoseconds between two looks, and as long as there are too many: libfabric then takes in others
// that stand in line.
constexpr long kPause = 250'000'000, kShortPause = 5'000'000;
constexpr int kMany = 32;

// -1: there is none.
int lowest_free(int any) {
  const int fd = ::fcntl(any, F_DUPFD_CLOEXEC, 0);
  if (fd >= 0) ::close(fd);
  return fd;
}

}  // namespace

Doorkeeper::Doorkeeper(std::vector<std::string> names, Watcher& watcher)
    : names_(std::move(names)),
      alarm_([] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }) {
  quiet_ = lowest_free(alarm_.get());  // before the watcher's thread may look
  if (!alarm_ || !watcher.watch(alarm_.get(), [this] { look(); }))
    throw Unsupported("ofi: cannot watch for strangers, " + errno_text("timerfd"));
  set_alarm(kPause);
}

void Doorkeeper::set_alarm(long nanoseconds) {
  const itimerspec often{{0, nanoseconds}, {0, nanoseconds}};
  ::timerfd_settime(alarm_.get(), 0, &often, nullptr);
}

void Doorkeeper::look() {
  std::uint64_t times;
  (void)!::read(alarm_.get(), &times, sizeof times);
  const int now = lowest_free(alarm_.get());
  if (!hurried_ && now >= 0 && now < quiet_ + kMany) return;
  std::size_t found = 0;
  for (const std::string& name : names_)
    found += shut_unanswered(name, Strangers::kMost, Strangers::kPatience);
  if (found == 0 && now >= 0) quiet_ = now;
  const bool hurry = found > Strangers::kMost;
  if (hurry != hurried_) set_alarm(hurry ? kShortPause : kPause);
  hurried_ = hurry;
}

}  // namespace weft::ofi

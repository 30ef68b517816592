#include "fabric/ofi/net/driver.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/errno_text.h"
#include "fabric/watcher.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// Milliseconds. Every look takes a core from a rank, and where ranks share cores it moves them.
constexpr int kLongestPause = 8;

}  // namespace

Driver::Driver(std::shared_ptr<Port> port)
    : port_(std::move(port)), wake_([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }) {
  if (!wake_) throw Unsupported("ofi: " + errno_text("eventfd"));
  const SignalsBlocked blocked;
  const auto body = [](void* self) -> void* {
    static_cast<Driver*>(self)->run();
    return nullptr;
  };
  const int error = ::pthread_create(&thread_, nullptr, body, this);
  if (error != 0)
    throw Unsupported("ofi: " + errno_text("pthread_create", error) + "; raise ulimit -u");
  ::pthread_setname_np(thread_, "weft-driver");
}

Driver::~Driver() {
  if (mark_.forked()) return;
  stop_.store(true, std::memory_order_relaxed);
  wake();
  ::pthread_join(thread_, nullptr);
}

// The eventfd orders what is stored before it and read after it; the atomics are only hints.
void Driver::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

// Both sequentially consistent: of a sleeper and a driver that begins to watch pollers, one sees
// the other.
void Driver::enter_sleep() {
  sleepers_.fetch_add(1);
  if (watching_.load()) wake();
}

void Driver::leave_sleep() { sleepers_.fetch_sub(1, std::memory_order_relaxed); }

// False: only the time is over.
bool Driver::wait(const std::vector<int>& descriptors, int milliseconds) {
  std::array<pollfd, 1 + kMostRails> wanted{pollfd{wake_.get(), POLLIN, 0}};
  for (std::size_t i = 0; i < descriptors.size(); ++i) wanted[1 + i] = {descriptors[i], POLLIN, 0};
  if (::poll(wanted.data(), 1 + descriptors.size(), milliseconds) <= 0) return false;
  std::uint64_t count;
  if (wanted[0].revents) (void)!::read(wake_.get(), &count, sizeof count);
  return true;
}

bool Driver::watch_pollers() {
  for (int pause = 1;; pause = std::min(2 * pause, kLongestPause)) {
    const std::uint64_t before = port_->pokes();
    watching_.store(true);
    if (sleepers_.load() == 0) wait({}, pause);
    watching_.store(false, std::memory_order_relaxed);
    if (stop_.load(std::memory_order_relaxed)) return false;
    if (sleepers_.load(std::memory_order_relaxed) > 0 || port_->pokes() == before) return true;
  }
}

bool Driver::wait_for_port() {
  for (;;) {
    const std::uint64_t before = port_->pokes();
    // Without descriptors: as often as a sleeper looks.
    if (port_->wait_descriptors().empty()) {
      wait({}, 1);
    } else if (port_->may_wait()) {
      wait(port_->wait_descriptors(), -1);
    }
    if (stop_.load(std::memory_order_relaxed)) return false;
    port_->progress();
    // It was woken while others poll: they need no help.
    if (port_->pokes() != before && sleepers_.load(std::memory_order_relaxed) == 0) return true;
  }
}

void Driver::run() {
  while (wait_for_port() && watch_pollers()) {
  }
}

}  // namespace weft::ofi

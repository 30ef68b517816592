#include "fabric/shm/doorbell.h"

#include <chrono>

#include "base/futex.h"
#include "base/membarrier.h"

namespace weft::shm {
namespace {

constexpr std::uint32_t kRung = 1;

}  // namespace

void wake(Control& control) {
  // relaxed: an odd bell is either one that the sleeper heard or one that wakes it now.
  if (control.bell.load(std::memory_order_relaxed) & kRung) return;
  // release: who takes the odd value (announce) sees what was stored before the ring.
  if (control.bell.fetch_or(kRung, std::memory_order_release) & kRung) return;
  futex_wake_all(control.bell);
}

std::uint32_t announce(Control& control) {
  // relaxed, twice: the heavy fence below publishes both words.
  control.sleepers.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t bell = control.bell.load(std::memory_order_relaxed);
  while (bell & kRung) {
    // acquire: pairs with the release in wake().
    if (control.bell.compare_exchange_weak(bell, bell + kRung, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      bell += kRung;
    }
  }
  heavy_fence();
  return bell;
}

void sleep(Control& control, std::uint32_t announced) {
  // Nothing orders the kernel's look at the bell before the caller's next look for messages. One
  // that misses what it was woken for announces again, and that acquires the odd bell.
  futex_wait(control.bell, announced, std::chrono::milliseconds(1));
  retire(control);
}

void retire(Control& control) {
  // relaxed: too high a count costs a peer a needless wake, no more.
  control.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft::shm

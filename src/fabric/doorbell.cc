#include "fabric/doorbell.h"

#include <chrono>

#include "base/futex.h"
#include "base/membarrier.h"

namespace weft {
namespace {

constexpr std::uint32_t kRung = 1;

}  // namespace

void wake(Doorbell& door) {
  // relaxed: an odd bell is either one that the sleeper heard or one that wakes it now.
  if (door.bell.load(std::memory_order_relaxed) & kRung) return;
  // release: who takes the odd value (announce) sees what was stored before the ring.
  if (door.bell.fetch_or(kRung, std::memory_order_release) & kRung) return;
  futex_wake_all(door.bell);
}

std::uint32_t announce(Doorbell& door) {
  // relaxed, twice: the heavy fence below publishes both words.
  door.sleepers.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t bell = door.bell.load(std::memory_order_relaxed);
  while (bell & kRung) {
    // acquire: pairs with the release in wake().
    if (door.bell.compare_exchange_weak(bell, bell + kRung, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      bell += kRung;
    }
  }
  heavy_fence();
  return bell;
}

void sleep(Doorbell& door, std::uint32_t announced) {
  // Nothing orders the kernel's look at the bell before the caller's next look for messages. A
  // sleeper that misses the reason of its wake announces again, and that acquires the odd bell.
  futex_wait(door.bell, announced, std::chrono::milliseconds(1));
  retire(door);
}

void retire(Doorbell& door) {
  // relaxed: too high a count costs a peer a needless wake, no more.
  door.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft

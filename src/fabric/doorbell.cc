#include "fabric/doorbell.h"

#include <chrono>

#include "base/futex.h"
#include "base/membarrier.h"

namespace weft {
namespace {

constexpr std::uint32_t kRung = 1;
constexpr std::uint32_t kRingersFence = 1, kAllFence = 2;

}  // namespace

void expect_crowd(Doorbell& door) {
  // relaxed: who finds it so has nothing to do.
  if (door.fenced.load(std::memory_order_relaxed) == kAllFence) return;
  // relaxed: the heavy fence publishes it. Who rings and has not seen it stored its message before
  // that fence, so whoever goes to sleep after it finds the message.
  door.fenced.store(kRingersFence, std::memory_order_relaxed);
  heavy_fence();
  door.fenced.store(kAllFence, std::memory_order_release);
}

void wake(Doorbell& door) {
  // relaxed: an odd bell is either one that the sleeper heard or one that wakes it now.
  if (door.bell.load(std::memory_order_relaxed) & kRung) return;
  // release: who takes the odd value (announce) sees what was stored before the ring.
  if (door.bell.fetch_or(kRung, std::memory_order_release) & kRung) return;
  futex_wake_all(door.bell);
}

std::uint32_t announce(Doorbell& door) {
  // relaxed, twice: the fence below publishes both words.
  door.sleepers.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t bell = door.bell.load(std::memory_order_relaxed);
  while (bell & kRung) {
    // acquire: pairs with the release in wake().
    if (door.bell.compare_exchange_weak(bell, bell + kRung, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      bell += kRung;
    }
  }
  // acquire: pairs with expect_crowd(), so this is after its heavy fence.
  if (door.fenced.load(std::memory_order_acquire) == kAllFence)
    std::atomic_thread_fence(std::memory_order_seq_cst);
  else
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

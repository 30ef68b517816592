// Sleeping until a peer has done something, where the peer's side costs one plain load.
//
// The sleeper raises `sleepers`, makes `bell` even, runs a heavy fence and looks once more
// before it sleeps on `bell`. The peer stores its message, then loads `sleepers`; only if
// there are any it makes `bell` odd and wakes them. The heavy fence falls somewhere into
// the peer's instructions. If its store came before, the sleeper's last look finds it; if
// after, its loads see the raised `sleepers` and the even `bell`. So no wake-up is lost, and
// an odd bell spares all further peers the system call. If the kernel has no heavy fence, the store
// and the load may pass each other. The sleeper then finds out within 1 ms.
//
// A heavy fence interrupts every core that runs a rank. Where ranks share cores and sleep often,
// that costs more than a fence of each who rings: see expect_crowd().
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// A doorbell: all zeros at first. It may lie in shared memory.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleepers;  // threads that announced themselves
  std::atomic<std::uint32_t> bell;      // odd: rung since the last announcement
  std::atomic<std::uint32_t> fenced;    // 1: who rings runs a fence; 2: and so does who sleeps
};

// The second half of ring(): makes the bell odd, wakes if it was even.
void wake(Doorbell& door);

// After a store that the owner of `door` may be waiting for.
inline void ring(Doorbell& door) {
  // Holds the compiler to the order; the processor is held by the sleeper's heavy fence.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // relaxed: who misses the change was held by the heavy fence that came with it.
  if (door.fenced.load(std::memory_order_relaxed) != 0)
    std::atomic_thread_fence(std::memory_order_seq_cst);
  // relaxed: it orders nothing, see above.
  if (door.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake(door);
}

// The owner's side: Fabric::expect_crowd, announce, sleep and retire.
void expect_crowd(Doorbell& door);
std::uint32_t announce(Doorbell& door);
void sleep(Doorbell& door, std::uint32_t announced);
void retire(Doorbell& door);

}  // namespace weft

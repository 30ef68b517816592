// Sleeping on a word of memory that may be shared between processes. See futex(2).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft {

// Sleeps while `word` is `expected`: until a wake, a signal, or `at_most` has passed. May
// return early for no reason. The word may lie in memory shared with other processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds at_most);

// Wakes all who sleep on `word`, in every process.
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace weft

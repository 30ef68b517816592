// Hints to the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// Announces that this core will write the cache line at `line` soon. The line then moves here
// before the store needs it. Changes nothing; any address will do.
inline void prefetch_to_write(const void* line) {
#if defined(__x86_64__)
  // Not the builtin, which without -mprfchw asks for a copy to read: the store would wait all
  // the same. Processors that have no such instruction pass over it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

inline constexpr std::size_t kPageBytes = 4096;

// For a loop that reads up to `end` and stands at `at`: asks for the beginning of a page that is
// one to two pages away. The processor fetches ahead by itself only within a page.
[[gnu::always_inline]] inline void fetch_page_ahead(const char* at, const char* end) {
  constexpr std::size_t kLines = 8, kLineBytes = 64;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(at) % kPageBytes;
  const std::size_t away = kPageBytes + (past ? kPageBytes - past : 0);
  if (static_cast<std::size_t>(end - at) < away + kLines * kLineBytes) return;
  for (std::size_t line = 0; line < kLines; ++line)
    __builtin_prefetch(at + away + line * kLineBytes);
}

}  // namespace weft

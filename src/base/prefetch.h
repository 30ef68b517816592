// A hint to the processor.
#pragma once

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

}  // namespace weft

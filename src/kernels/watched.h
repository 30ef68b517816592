// What a sanitizer cannot see of a copy: stores past the caches and string instructions. Each such
// loop says here, before it begins, what it is going to read and write.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_read_range(void* begin, unsigned long bytes);
extern "C" void __tsan_write_range(void* begin, unsigned long bytes);
#elif defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_loadN(void* begin, unsigned long bytes);
extern "C" void __asan_storeN(void* begin, unsigned long bytes);
#endif

namespace weft::kernels {

// Static: an instance of its own for each instruction set.
static inline void watch_copy([[maybe_unused]] char* dst, [[maybe_unused]] const char* src,
                              [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  __tsan_read_range(const_cast<char*>(src), bytes);
  __tsan_write_range(dst, bytes);
#elif defined(__SANITIZE_ADDRESS__)
  __asan_loadN(const_cast<char*>(src), bytes);
  __asan_storeN(dst, bytes);
#endif
}

}  // namespace weft::kernels

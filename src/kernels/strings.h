// Copying by the processor's string instruction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/prefetch.h"
#include "kernels/isa.h"
#include "kernels/watched.h"

namespace weft::kernels {

// By `rep movsb`, from the first cache line boundary of the destination on; `plain` copies what
// lies before. Later stores are not ordered before its stores, so it needs no fence. `fetches`:
// page by page, with the beginning of a later page fetched ahead.
#if defined(__x86_64__)
inline void copy_string(void* to, const void* from, std::size_t bytes, CopyFn plain,
                        bool fetches = false) {
  constexpr std::size_t kLine = 64;
  char* dst = static_cast<char*>(to);
  const char* src = static_cast<const char*>(from);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(dst) % kLine;
  if (bytes <= before) return plain(to, from, bytes);
  if (before) plain(dst, src, before);
  dst += before;
  src += before;
  bytes -= before;
  watch_copy(dst, src, bytes);
  const char* const end = src + bytes;
  while (src < end) {
    std::size_t piece = static_cast<std::size_t>(end - src);
    if (fetches) {
      fetch_page_ahead(src, end);
      piece = std::min(piece, kPageBytes);
    }
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(piece) : : "memory");
  }
}
#endif

}  // namespace weft::kernels

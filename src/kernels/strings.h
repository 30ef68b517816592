// Copying by the processor's string instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"
#include "kernels/watched.h"

namespace weft::kernels {

// By `rep movsb`, from the first cache line boundary of the destination on; `plain` copies what
// lies before. Later stores are not ordered before its stores, so it needs no fence. Null on
// processors without it.
#if defined(__x86_64__)
inline void copy_string(void* to, const void* from, std::size_t bytes, CopyFn plain) {
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
  __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
}
#endif

}  // namespace weft::kernels

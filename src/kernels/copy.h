// Copying payloads. No C library's choice decides how: the model of the machine has the data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kernels {

// Whose memory a copy fills. A store into a line that another core has read costs more than one
// into this core's own, unless whole lines are written at once.
enum class To : std::uint8_t {
  kOwn,   // memory of this rank that it reads itself
  kSlot,  // a slot: its readers have read it before, and will read it next
  kPeer,  // a peer's output or window
};

// What a copy is for. `whole`: bytes of the call's buffer that is filled, or of the one that is
// read if a slot is filled; 0: the copy is all. A buffer larger than the caches does not stay in
// them.
struct Filling {
  constexpr Filling(To kind, std::size_t all = 0) : to(kind), whole(all) {}
  To to;
  std::size_t whole;
};

// What a short copy goes through: a register of 16 bytes, which every processor has, or a part of
// a general one. Choosing among instruction sets would take longer than the copy.
template <std::size_t N>
struct PartOf {
  typedef unsigned char type __attribute__((vector_size(16)));
};
template <>
struct PartOf<8> {
  using type = std::uint64_t;
};
template <>
struct PartOf<4> {
  using type = std::uint32_t;
};
template <>
struct PartOf<2> {
  using type = std::uint16_t;
};

// Two pieces of N bytes, from both ends, all loads before all stores.
template <std::size_t N>
inline void copy_both_ends(void* dst, const void* src, std::size_t bytes) {
  using Part = typename PartOf<N>::type;
  constexpr std::size_t kPart = sizeof(Part);
  Part first[N / kPart], last[N / kPart];
  const char* const from = static_cast<const char*>(src);
  char* const to = static_cast<char*>(dst);
  for (std::size_t i = 0; i < N / kPart; ++i) {
    __builtin_memcpy(&first[i], from + i * kPart, kPart);
    __builtin_memcpy(&last[i], from + bytes - N + i * kPart, kPart);
  }
  for (std::size_t i = 0; i < N / kPart; ++i) {
    __builtin_memcpy(to + i * kPart, &first[i], kPart);
    __builtin_memcpy(to + bytes - N + i * kPart, &last[i], kPart);
  }
}

inline constexpr std::size_t kFewBytes = 64;

// Up to kFewBytes.
inline void copy_few(void* dst, const void* src, std::size_t bytes) {
  if (bytes >= 32) return copy_both_ends<32>(dst, src, bytes);
  if (bytes >= 16) return copy_both_ends<16>(dst, src, bytes);
  if (bytes >= 8) return copy_both_ends<8>(dst, src, bytes);
  if (bytes >= 4) return copy_both_ends<4>(dst, src, bytes);
  if (bytes >= 2) return copy_both_ends<2>(dst, src, bytes);
  if (bytes == 1) *static_cast<char*>(dst) = *static_cast<const char*>(src);
}

// As copy(), of more than kFewBytes.
void copy_many(void* dst, const void* src, std::size_t bytes, Filling filling);

// dst = src. They do not overlap, but may be the same, where nothing changes. No alignment is asked
// for. The caller's next release store publishes the bytes. Thread safe.
inline void copy(void* dst, const void* src, std::size_t bytes, Filling filling) {
  if (bytes <= kFewBytes) return copy_few(dst, src, bytes);
  copy_many(dst, src, bytes, filling);
}

// The same for two targets, in pieces that are read from memory once.
struct CopyTarget {
  void* data;
  Filling filling;
};
void copy(CopyTarget first, CopyTarget second, const void* src, std::size_t bytes);

// Whether copy() takes plain vector loops for it. Their stores cost what those of a reduction do.
bool is_plain(std::size_t bytes, Filling filling);

}  // namespace weft::kernels

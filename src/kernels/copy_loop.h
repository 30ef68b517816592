// The copy loops. Included by each isa_*.cc after pack.h, in the same anonymous namespace.
//
//   copy_plain   |first block|  aligned blocks ...  |last block|
//   copy_parts   |up to a line| two lines of each of four parts in turn ... |rest|
//   copy_stream  the same and then whole lines, past the caches ... |rest|  fence
//
// A processor fetches ahead by itself only within a page. Four parts wait for the beginnings of
// their pages at the same time. (The C library's large copies take four pages at once.)
//
// The first and the last block overlap the ones between them, so neither has a loop over single
// bytes. A block is four registers. Source and destination do not overlap.

constexpr std::size_t kBlockBytes = 4 * kVectorBytes;
constexpr std::size_t kLineBytes = 64;

using Register = Pack<std::uint8_t, kVectorBytes>;

// One block, its loads before its stores.
WEFT_INLINE void copy_block(char* dst, const char* src) {
  Register block[4];
  for (int r = 0; r < 4; ++r) block[r] = load<std::uint8_t, kVectorBytes>(src, r * kVectorBytes);
  for (int r = 0; r < 4; ++r) store<std::uint8_t, kVectorBytes>(dst, r * kVectorBytes, block[r]);
}

// Bytes from `at` to the next multiple of `alignment`, at least 1.
WEFT_INLINE std::size_t to_boundary(const void* at, std::size_t alignment) {
  return alignment - reinterpret_cast<std::uintptr_t>(at) % alignment;
}

// Up to two blocks, by pieces of `Bytes` from both ends.
template <int Bytes>
WEFT_INLINE void copy_ends(char* dst, const char* src, std::size_t bytes) {
  const auto first = load<std::uint8_t, Bytes>(src, 0);
  const auto last = load<std::uint8_t, Bytes>(src, bytes - Bytes);
  store<std::uint8_t, Bytes>(dst, 0, first);
  store<std::uint8_t, Bytes>(dst, bytes - Bytes, last);
}

// Less than one register.
WEFT_INLINE void copy_few(char* dst, const char* src, std::size_t bytes) {
  if constexpr (kVectorBytes > 32) {
    if (bytes >= 32) return copy_ends<32>(dst, src, bytes);
  }
  if constexpr (kVectorBytes > 16) {
    if (bytes >= 16) return copy_ends<16>(dst, src, bytes);
  }
  if (bytes >= 8) return copy_ends<8>(dst, src, bytes);
  for (std::size_t i = 0; i < bytes; ++i) dst[i] = src[i];
}

// Up to one block.
WEFT_INLINE void copy_short(char* dst, const char* src, std::size_t bytes) {
  if (bytes < kVectorBytes) return copy_few(dst, src, bytes);
  if (bytes <= 2 * kVectorBytes) return copy_ends<kVectorBytes>(dst, src, bytes);
  copy_ends<kVectorBytes>(dst, src, 2 * kVectorBytes);
  copy_ends<kVectorBytes>(dst + bytes - 2 * kVectorBytes, src + bytes - 2 * kVectorBytes,
                          2 * kVectorBytes);
}

inline void copy_plain(void* to, const void* from, std::size_t bytes) {
  char* dst = static_cast<char*>(to);
  const char* src = static_cast<const char*>(from);
  if (bytes <= kBlockBytes) return copy_short(dst, src, bytes);
  copy_block(dst, src);
  if (bytes <= 2 * kBlockBytes)
    return copy_block(dst + bytes - kBlockBytes, src + bytes - kBlockBytes);
  // From here on stores are aligned: an unaligned one may touch two lines.
  std::size_t at = to_boundary(dst, kVectorBytes);
  for (; at + kBlockBytes < bytes; at += kBlockBytes) copy_block(dst + at, src + at);
  copy_block(dst + bytes - kBlockBytes, src + bytes - kBlockBytes);
}

// Calls move(place) for every two lines of four parts of [at, bytes). Returns where the rest
// begins. Parts lie an odd number of quarter pages apart. With whole pages a load waits for a
// recent store whose address has the same low bits, if both sides of the copy have the same.
template <class Move>
WEFT_INLINE std::size_t in_parts(std::size_t at, std::size_t bytes, Move move) {
  constexpr std::size_t kParts = 4, kStep = 2 * kLineBytes, kApart = kPageBytes / kParts;
  const std::size_t most = (bytes - at) / kParts / kApart;
  const std::size_t part = (most % 2 || most == 0 ? most : most - 1) * kApart;
  for (std::size_t step = 0; step < part; step += kStep)
    for (std::size_t k = 0; k < kParts; ++k) move(at + k * part + step);
  return at + kParts * part;
}

inline void copy_parts(void* to, const void* from, std::size_t bytes) {
  char* dst = static_cast<char*>(to);
  const char* src = static_cast<const char*>(from);
  if (bytes < 2 * kLineBytes) return copy_plain(to, from, bytes);
  copy_plain(dst, src, kLineBytes);
  const std::size_t end = in_parts(to_boundary(dst, kLineBytes), bytes, [&](std::size_t at) {
    for (std::size_t r = 0; r < 2 * kLineBytes; r += kVectorBytes)
      store<std::uint8_t, kVectorBytes>(dst, at + r, load<std::uint8_t, kVectorBytes>(src, at + r));
  });
  copy_plain(dst + end, src + end, bytes - end);
}

// A register stored past the caches, to an address that is aligned to it.
WEFT_INLINE void stream(char* dst, Register value) {
#if defined(__AVX512BW__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), as<__m512i>(value));
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(dst), as<__m256i>(value));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(dst), as<__m128i>(value));
#else
  store<std::uint8_t, kVectorBytes>(dst, 0, value);  // no profile of another processor asks for it
#endif
}

// Such stores are not ordered with the release that publishes them, so a fence ends them.
WEFT_INLINE void end_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

inline void copy_stream(void* to, const void* from, std::size_t bytes) {
  char* dst = static_cast<char*>(to);
  const char* src = static_cast<const char*>(from);
  if (bytes < 2 * kLineBytes) return copy_plain(to, from, bytes);
  watch_copy(dst, src, bytes);
  copy_plain(dst, src, kLineBytes);
  const auto move = [&](std::size_t at, std::size_t size) {
    for (std::size_t r = 0; r < size; r += kVectorBytes)
      stream(dst + at + r, load<std::uint8_t, kVectorBytes>(src, at + r));
  };
  std::size_t end = in_parts(to_boundary(dst, kLineBytes), bytes,
                             [&](std::size_t at) { move(at, 2 * kLineBytes); });
  for (; end + kLineBytes <= bytes; end += kLineBytes) move(end, kLineBytes);
  end_stream();
  copy_plain(dst + end, src + end, bytes - end);
}

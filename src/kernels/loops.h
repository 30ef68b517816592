// The reduce loops. Included by each isa_*.cc after formats.h and ops.h, in the same
// anonymous namespace.
//
//   for i in 0 .. count, some registers at a time:
//     acc = read(src[0], i);  acc = Op(acc, read(src[k], i)) for k = 1, 2, ...
//     dst[0][i] = dst[1][i] = finish(acc)
//
// Sums stay in registers whatever the number of sources, so each source is read once and
// nothing is written but the targets. The last elements go through ever narrower
// registers by the same code, so an element's bits do not depend on its place.

// The lanes of the next narrower register.
template <class Op>
constexpr int narrower(int lanes) {
  return lanes / 4 < Op::kLeast ? Op::kLeast : lanes / 4;
}

template <class Op, class T, int N, int R>
WEFT_INLINE void combine(Pack<T, N> (&acc)[R], const Pack<T, N> (&next)[R]) {
  for (int r = 0; r < R; ++r) acc[r] = Op::template of<T>(acc[r], next[r]);
}

template <class T, bool Scaled, int N, int R>
WEFT_INLINE void finish_all(Pack<T, N> (&acc)[R], T scale) {
  for (int r = 0; r < R; ++r) acc[r] = finish<T, Scaled>(acc[r], scale);
}

// Two sources, none wide: the step of every ring and tree. Elements [index, count).
template <class Format, class Op, bool Scaled, int N, int R>
WEFT_INLINE void reduce_two(const void* a, const void* b, void* dst, void* dst2,
                            std::size_t index, std::size_t count, typename Format::Acc scale) {
  using T = typename Format::Acc;
  for (; index + N * R <= count; index += N * R) {
    Pack<T, N> acc[R], next[R];
    Format::template read<N, R>(acc, a, index);
    Format::template read<N, R>(next, b, index);
    combine<Op, T, N, R>(acc, next);
    finish_all<T, Scaled, N, R>(acc, scale);
    Format::template write<N, R>(dst, index, acc);
    if (dst2) Format::template write<N, R>(dst2, index, acc);
  }
  if constexpr (R > 1) {
    reduce_two<Format, Op, Scaled, N, 1>(a, b, dst, dst2, index, count, scale);
  } else if constexpr (N > Op::kLeast) {
    reduce_two<Format, Op, Scaled, narrower<Op>(N), 1>(a, b, dst, dst2, index, count, scale);
  }
}

template <class Format, int N, int R>
WEFT_INLINE void read_any(Pack<typename Format::Acc, N> (&acc)[R], const Source& source,
                          std::size_t index) {
  if constexpr (Format::kNarrow) {
    if (source.wide) return Format::template read_wide<N, R>(acc, source.data, index);
  }
  Format::template read<N, R>(acc, source.data, index);
}

template <class Format, int N, int R>
WEFT_INLINE void write_any(const Target& target, std::size_t index,
                           const Pack<typename Format::Acc, N> (&acc)[R]) {
  if constexpr (Format::kNarrow) {
    if (target.wide) return Format::template write_wide<N, R>(target.data, index, acc);
  }
  Format::template write<N, R>(target.data, index, acc);
}

// Any number of sources and any mixture of wide ones; several registers at a time, so
// that finding the next source costs little beside the work on it.
template <class Format, class Op, bool Scaled, int N, int R>
WEFT_INLINE void reduce_many(std::span<const Source> src, std::span<const Target> dst,
                             std::size_t index, std::size_t count, typename Format::Acc scale) {
  using T = typename Format::Acc;
  for (; index + N * R <= count; index += N * R) {
    Pack<T, N> acc[R], next[R];
    read_any<Format, N, R>(acc, src[0], index);
    for (std::size_t k = 1; k < src.size(); ++k) {
      read_any<Format, N, R>(next, src[k], index);
      combine<Op, T, N, R>(acc, next);
    }
    finish_all<T, Scaled, N, R>(acc, scale);
    for (const Target& target : dst) write_any<Format, N, R>(target, index, acc);
  }
  if constexpr (R > 1) {
    reduce_many<Format, Op, Scaled, N, 1>(src, dst, index, count, scale);
  } else if constexpr (N > Op::kLeast) {
    reduce_many<Format, Op, Scaled, narrower<Op>(N), 1>(src, dst, index, count, scale);
  }
}

template <class Format>
WEFT_INLINE bool any_wide(std::span<const Source> src, std::span<const Target> dst) {
  bool wide = false;
  if constexpr (Format::kNarrow) {
    for (const Source& source : src) wide |= source.wide;
    for (const Target& target : dst) wide |= target.wide;
  }
  return wide;
}

template <class Format, class Op, bool Scaled>
WEFT_INLINE void reduce(std::span<const Source> src, std::span<const Target> dst,
                        std::size_t count, typename Format::Acc scale) {
  constexpr int kWidth = kLanes<typename Format::Acc>;
  if (src.size() == 2 && !any_wide<Format>(src, dst)) {
    constexpr int kRegisters = Format::kNarrow ? 2 : 1;
    void* second = dst.size() > 1 ? dst[1].data : nullptr;
    return reduce_two<Format, Op, Scaled, kWidth, kRegisters>(src[0].data, src[1].data,
                                                              dst[0].data, second, 0, count, scale);
  }
  reduce_many<Format, Op, Scaled, kWidth, 4>(src, dst, 0, count, scale);
}

// The entries of the table. An element is `Per` lanes: two for a complex number whose
// parts do not mix, the bytes of an integer for bitwise operations.

template <class Format, class Op, int Per = 1>
void reduce_plain(std::span<const Source> src, std::span<const Target> dst, std::size_t count,
                  double /*scale*/) {
  reduce<Format, Op, false>(src, dst, count * Per, {});
}

template <class Format, int Per = 1>
void reduce_sum(std::span<const Source> src, std::span<const Target> dst, std::size_t count,
                double scale) {
  if (scale == 1.0) return reduce<Format, Sum, false>(src, dst, count * Per, {});
  reduce<Format, Sum, true>(src, dst, count * Per, static_cast<typename Format::Acc>(scale));
}

// The reduce loops. Included by each isa_*.cc after formats.h and ops.h, in the same
// anonymous namespace.
//
//   for i in 0 .. count, some registers at a time:
//     acc = read(src[0], i);  acc = Op(acc, read(src[k], i)) for k = 1, 2, ... (or as a tree)
//     dst[0][i] = dst[1][i] = finish(acc)
//
// Sums stay in registers whatever the number of sources, so each source is read once and
// nothing is written but the targets. The last elements go through ever narrower
// registers by the same code, so an element's bits do not depend on its place.

// The lanes of the next narrower register: 64, 16, 4, 2, 1.
template <class Op>
constexpr int narrower(int lanes) {
  const int next = lanes > 4 ? lanes / 4 : lanes / 2;
  return next < Op::kLeast ? Op::kLeast : next;
}

// The operands of one call. Spans would be called through functions of the standard
// library where nothing is inlined, and the linker could take this file's for all.
struct Operands {
  const Source* src;
  std::size_t sources;
  const Target* dst;
  std::size_t targets;
  std::size_t count;
  Order order;
};

template <class Op, class T, int N, int R>
WEFT_INLINE void combine(Pack<T, N> (&acc)[R], const Pack<T, N> (&next)[R]) {
  for (int r = 0; r < R; ++r) acc[r] = Op::template of<T>(acc[r], next[r]);
}

template <class T, bool Scaled, int N, int R>
WEFT_INLINE void finish_all(Pack<T, N> (&acc)[R], T scale) {
  for (int r = 0; r < R; ++r) acc[r] = finish<T, Scaled>(acc[r], scale);
}

// A number of sources known here, none of them wide: up to three, or four as a tree (which up to
// three are, too). Elements [index, count).
template <class Format, class Op, bool Scaled, int Sources, int N, int R>
WEFT_INLINE void reduce_few(const void* const (&src)[Sources], void* dst, void* dst2,
                            std::size_t index, std::size_t count, typename Format::Acc scale) {
  using T = typename Format::Acc;
  for (; index + N * R <= count; index += N * R) {
    Pack<T, N> acc[R], next[R];
    Format::template read<N, R>(acc, src[0], index);
    for (int k = 1; k < Sources && k < 3; ++k) {
      Format::template read<N, R>(next, src[k], index);
      if constexpr (Sources == 4) {
        if (k == 2) {
          Pack<T, N> last[R];
          Format::template read<N, R>(last, src[3], index);
          combine<Op, T, N, R>(next, last);
        }
      }
      combine<Op, T, N, R>(acc, next);
    }
    finish_all<T, Scaled, N, R>(acc, scale);
    Format::template write<N, R>(dst, index, acc);
    if (dst2) Format::template write<N, R>(dst2, index, acc);
  }
  if constexpr (R > 1) {
    reduce_few<Format, Op, Scaled, Sources, N, 1>(src, dst, dst2, index, count, scale);
  } else if constexpr (N > Op::kLeast) {
    reduce_few<Format, Op, Scaled, Sources, narrower<Op>(N), 1>(src, dst, dst2, index, count,
                                                                scale);
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
WEFT_INLINE void reduce_many(const Operands& all, std::size_t index, typename Format::Acc scale) {
  using T = typename Format::Acc;
  for (; index + N * R <= all.count; index += N * R) {
    Pack<T, N> acc[R], next[R];
    read_any<Format, N, R>(acc, all.src[0], index);
    for (std::size_t k = 1; k < all.sources; ++k) {
      read_any<Format, N, R>(next, all.src[k], index);
      combine<Op, T, N, R>(acc, next);
    }
    finish_all<T, Scaled, N, R>(acc, scale);
    for (std::size_t t = 0; t < all.targets; ++t) {
      write_any<Format, N, R>(all.dst[t], index, acc);
    }
  }
  if constexpr (R > 1) {
    reduce_many<Format, Op, Scaled, N, 1>(all, index, scale);
  } else if constexpr (N > Op::kLeast) {
    reduce_many<Format, Op, Scaled, narrower<Op>(N), 1>(all, index, scale);
  }
}

// Deep enough for as many sources as there may be ranks.
constexpr int kTreeDepth = 32;

// The sum of up to four sources as a tree; up to three are one from the left.
template <class Format, class Op, int N, int R>
WEFT_INLINE void read_four(Pack<typename Format::Acc, N> (&acc)[R], const Source* src,
                           std::size_t sources, std::size_t index) {
  using T = typename Format::Acc;
  Pack<T, N> next[R], last[R];
  read_any<Format, N, R>(acc, src[0], index);
  if (sources > 1) {
    read_any<Format, N, R>(next, src[1], index);
    combine<Op, T, N, R>(acc, next);
  }
  if (sources > 2) {
    read_any<Format, N, R>(next, src[2], index);
    if (sources > 3) {
      read_any<Format, N, R>(last, src[3], index);
      combine<Op, T, N, R>(next, last);
    }
    combine<Op, T, N, R>(acc, next);
  }
}

template <class Format, class Op, int N, int R>
WEFT_INLINE void read_eight(Pack<typename Format::Acc, N> (&acc)[R], const Source* src,
                            std::size_t sources, std::size_t index) {
  if (sources <= 4) return read_four<Format, Op, N, R>(acc, src, sources, index);
  Pack<typename Format::Acc, N> first[R];
  read_four<Format, Op, N, R>(first, src, 4, index);
  read_four<Format, Op, N, R>(acc, src + 4, sources - 4, index);
  combine<Op, typename Format::Acc, N, R>(acc, first);
}

// The sum of all sources as a tree, eight at a time in registers. Sums of 8, 16, 32, ... sources
// wait on a stack until there is another of their size (counting in binary); what is left over at
// the end joins them from the right.
template <class Format, class Op, int N, int R>
WEFT_INLINE void read_tree(Pack<typename Format::Acc, N> (&acc)[R], const Operands& all,
                           std::size_t index) {
  using T = typename Format::Acc;
  Pack<T, N> waiting[kTreeDepth][R];
  int depth = 0;
  std::size_t k = 0;
  for (; k + 8 < all.sources; k += 8) {
    read_eight<Format, Op, N, R>(acc, all.src + k, 8, index);
    for (std::size_t eights = k / 8; eights % 2 == 1; eights /= 2) {
      combine<Op, T, N, R>(acc, waiting[--depth]);
    }
    for (int r = 0; r < R; ++r) waiting[depth][r] = acc[r];
    ++depth;
  }
  read_eight<Format, Op, N, R>(acc, all.src + k, all.sources - k, index);
  while (depth > 0) combine<Op, T, N, R>(acc, waiting[--depth]);
}

// As reduce_many, added up as a tree.
template <class Format, class Op, bool Scaled, int N, int R>
WEFT_INLINE void reduce_tree(const Operands& all, std::size_t index, typename Format::Acc scale) {
  using T = typename Format::Acc;
  for (; index + N * R <= all.count; index += N * R) {
    Pack<T, N> acc[R];
    read_tree<Format, Op, N, R>(acc, all, index);
    finish_all<T, Scaled, N, R>(acc, scale);
    for (std::size_t t = 0; t < all.targets; ++t) {
      write_any<Format, N, R>(all.dst[t], index, acc);
    }
  }
  if constexpr (R > 1) {
    reduce_tree<Format, Op, Scaled, N, 1>(all, index, scale);
  } else if constexpr (N > Op::kLeast) {
    reduce_tree<Format, Op, Scaled, narrower<Op>(N), 1>(all, index, scale);
  }
}

// Whether the order shows in the result: minimum, maximum and what wraps have the same bits in any.
template <class Format, class Op>
constexpr bool kOrdered = kFloating<typename Format::Acc> &&
                          (kSame<Op, Sum> || kSame<Op, Prod> || kSame<Op, ComplexProd>);

template <class Format>
WEFT_INLINE bool any_wide(const Operands& all) {
  bool wide = false;
  if constexpr (Format::kNarrow) {
    for (std::size_t k = 0; k < all.sources; ++k) wide |= all.src[k].wide;
    for (std::size_t t = 0; t < all.targets; ++t) wide |= all.dst[t].wide;
  }
  return wide;
}

// Calls loop(first, end) for a page of elements at a time. Fetches later pages of
// the sources ahead.
template <class Format, class Loop>
WEFT_INLINE void in_pages(const Operands& all, Loop loop) {
  constexpr std::size_t kBytes = Format::kNarrow ? 2 : sizeof(typename Format::Acc);
  constexpr std::size_t kPage = kPageBytes / kBytes;
  for (std::size_t at = 0; at < all.count; at += kPage) {
    for (std::size_t k = 0; k < all.sources; ++k) {
      const char* const data = static_cast<const char*>(all.src[k].data);
      fetch_page_ahead(data + at * kBytes, data + all.count * kBytes);
    }
    loop(at, all.count - at < kPage ? all.count : at + kPage);
  }
}

template <class Format, class Op, bool Scaled, int Sources>
WEFT_INLINE void reduce_few(const Operands& all, typename Format::Acc scale) {
  const void* src[Sources];
  for (int k = 0; k < Sources; ++k) src[k] = all.src[k].data;
  void* second = all.targets > 1 ? all.dst[1].data : nullptr;
  constexpr int kRegisters = Format::kNarrow ? 2 : 1;
  in_pages<Format>(all, [&](std::size_t first, std::size_t end) {
    reduce_few<Format, Op, Scaled, Sources, kLanes<typename Format::Acc>, kRegisters>(
        src, all.dst[0].data, second, first, end, scale);
  });
}

// Two sources are the step of every ring and tree, three and four that of small groups.
template <class Format, class Op, bool Scaled>
WEFT_INLINE void reduce(const Operands& all, typename Format::Acc scale) {
  constexpr bool kCommon = kSame<Op, Sum> && kFloating<typename Format::Acc>;
  const bool tree = kOrdered<Format, Op> && all.order == Order::kTree && all.sources > 3;
  if (!any_wide<Format>(all)) {
    if (all.sources == 2) return reduce_few<Format, Op, Scaled, 2>(all, scale);
    if (kCommon && all.sources == 3) return reduce_few<Format, Op, Scaled, 3>(all, scale);
    if (kCommon && all.sources == 4 && tree) return reduce_few<Format, Op, Scaled, 4>(all, scale);
  }
  if constexpr (kOrdered<Format, Op>) {
    if (tree)
      return reduce_tree<Format, Op, Scaled, kLanes<typename Format::Acc>, 4>(all, 0, scale);
  }
  reduce_many<Format, Op, Scaled, kLanes<typename Format::Acc>, 4>(all, 0, scale);
}

// The entries of the table. An element is `Per` lanes: two for a complex number whose
// parts do not mix, the bytes of an integer for bitwise operations.

template <class Format, class Op, int Per = 1>
void reduce_plain(std::span<const Source> src, std::span<const Target> dst, std::size_t count,
                  double /*scale*/, Order order) {
  const Exact exact;
  reduce<Format, Op, false>({src.data(), src.size(), dst.data(), dst.size(), count * Per, order},
                            {});
}

template <class Format, int Per = 1>
void reduce_sum(std::span<const Source> src, std::span<const Target> dst, std::size_t count,
                double scale, Order order) {
  using T = typename Format::Acc;
  const Exact exact;
  const Operands all = {src.data(), src.size(), dst.data(), dst.size(), count * Per, order};
  if (scale == 1.0) {
    reduce<Format, Sum, false>(all, T{1});
  } else {
    reduce<Format, Sum, true>(all, static_cast<T>(scale));
  }
}

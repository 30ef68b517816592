// Loops over memory. They know no ranks, plans or fabrics.
//
// The same source is compiled for several instruction sets and the best one that the
// processor has is chosen once. All give identical bits: no reassociation, no fused
// multiply-add across a rounding that another target would make.
//
// The caller's next release store publishes everything that is stored here. So a loop that stores
// past the caches fences before it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/types.h"

namespace weft::kernels {

// `wide`: elements are of the accumulator type (f32 for f16 and bf16), else of the dtype itself.
struct Source {
  const void* data;
  bool wide = false;
};
struct Target {
  void* data;
  bool wide = false;
};

// In what order sources are added up. The tree over n sources splits at the largest power of two
// below n, so it does not depend on which rank holds which: (a + b) + (c + d), ((a + b) + (c + d))
// + e.
enum class Order : bool { kFromLeft, kTree };

// dst[0] (and dst[1]) = scale * (src[0] + src[1] + ...) for `count` elements, in the order
// asked for, accumulated in the accumulator type and rounded once for each target.
// scale == 1 multiplies nothing. A target may be one of the sources (same address),
// and must not overlap any otherwise. One source converts and scales.
//
// Commutative to the bit: min and max order -0 before +0 and a NaN operand gives the
// canonical quiet NaN; a sum or product that is NaN is the canonical quiet NaN too.
// f16 and bf16 round to nearest even, denormals included. So it does on a thread that flushes
// denormals or rounds otherwise: its mode is put aside meanwhile.
//
// Integers wrap. On bool, where any byte but zero is true, sum and max are or, prod and min
// are and. Complex products are the textbook's, without C Annex G's second look at infinities.
// `scale` is turned into the accumulator type first (double for f64 and c128, else float);
// avg passes 1.0 / ranks. It is 1 for whatever is not a sum of floating or complex elements.
//
// At least one source, one or two targets. No alignment is asked for. Thread safe.
using ReduceFn = void (*)(std::span<const Source> src, std::span<const Target> dst,
                          std::size_t count, double scale, Order order);

// Null if the pair is not reducible (see weft::reducible). kAvg and kPremulSum are kSum: the scale
// says the rest.
ReduceFn find_reduce(DType dtype, ReduceOp op);

// One step of SGD on `count` weights whose two halves lie apart: see weft/optim.h. `momentum` is
// null if there is none. Same bits on a thread that flushes denormals. Thread safe.
struct SplitArrays {
  std::uint16_t* high;
  std::uint16_t* low;
  const std::uint16_t* grad;
  float* momentum;
};
struct SgdFactors {
  float minus_lr;
  float momentum;
  float undamped;  // 1 - dampening
  float weight_decay;
  bool nesterov;
  bool first;
};
using SplitSgdFn = void (*)(const SplitArrays& arrays, std::size_t count,
                            const SgdFactors& factors);
SplitSgdFn find_split_sgd();

// "avx512", "avx2" or "baseline": what find_reduce chose. The environment variable
// WEFT_ISA lowers it, for tests.
std::string_view instruction_set();

}  // namespace weft::kernels

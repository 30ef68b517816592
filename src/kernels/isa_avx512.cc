// The loops for x86-64 with AVX-512 F, BW, VL and DQ. Compiled with
// -mavx512f -mavx512bw -mavx512vl -mavx512dq -mf16c, so only the table may have a name outside.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/prefetch.h"
#include "kernels/isa.h"
#include "kernels/watched.h"

namespace weft::kernels {
namespace {

#include "kernels/pack.h"

#include "kernels/exact.h"

#include "kernels/half.h"

#include "kernels/formats.h"

#include "kernels/ops.h"

#include "kernels/loops.h"

#include "kernels/split_sgd_loop.h"

#include "kernels/copy_loop.h"

#include "kernels/table.h"

}  // namespace

constinit const Table kAvx512Table = make_table();

}  // namespace weft::kernels
#endif

// The loops for x86-64 with AVX2 and F16C. Compiled with
// -mavx2 -mf16c -mbmi2, so only the table may have a name outside.
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

constinit const Table kAvx2Table = make_table();

}  // namespace weft::kernels
#endif

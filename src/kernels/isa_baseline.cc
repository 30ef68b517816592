// The loops for every processor of the architecture.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/prefetch.h"
#include "kernels/isa.h"
#include "kernels/watched.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

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

constinit const Table kBaselineTable = make_table();

}  // namespace weft::kernels

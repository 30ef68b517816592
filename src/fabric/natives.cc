#include "fabric/natives.h"

#include <array>

#include "kernels/kernels.h"

namespace weft {

ReduceOp without_scale(ReduceOp op) {
  return op == ReduceOp::kAvg || op == ReduceOp::kPremulSum ? ReduceOp::kSum : op;
}

void scale_output(const NativeCall& call) {
  if (call.scale == 1.0 || call.output.empty()) return;
  const auto dtype = static_cast<DType>(call.signature.dtype);
  const std::array source{kernels::Source{call.output.data()}};
  const std::array target{kernels::Target{call.output.data()}};
  kernels::find_reduce(dtype, ReduceOp::kSum)(source, target, call.output.size() / size_of(dtype),
                                              call.scale, kernels::Order::kFromLeft);
}

}  // namespace weft

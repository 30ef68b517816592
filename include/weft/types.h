// The words a caller uses to say what it wants: element types, reductions and
// collectives. Plain values, safe to use from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

enum class DType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,     // two floats
  kC128,    // two doubles
  kF8E4M3,  // moved, never reduced
  kF8E5M2,  // moved, never reduced
};
inline constexpr int kDTypes = 17;

enum class ReduceOp : std::uint8_t {
  kSum,
  kProd,
  kMin,
  kMax,
  kAvg,        // sum divided by the number of ranks; floating and complex types only
  kPremulSum,  // sum of scale * x; floating and complex types only
  kBitAnd,     // integers; on bool, logical
  kBitOr,
  kBitXor,
};
inline constexpr int kReduceOps = 9;

enum class Collective : std::uint8_t {
  kAllreduce,
  kBroadcast,
  kReduce,
  kAllgather,
  kReduceScatter,
  kAlltoall,
  kGather,
  kScatter,
  kBarrier,
  kSendRecv,  // rank 0 of a pair sends, rank 1 receives
};
inline constexpr int kCollectives = 10;

// Bytes of one element.
std::size_t size_of(DType dtype);

// True for the types whose sums are accumulated in float (f16, bf16).
bool is_narrow(DType dtype);

// The type in which sums of `dtype` are accumulated: f32 for f16 and bf16, else itself.
DType accumulator_of(DType dtype);

// The type in which narrow channels carry `dtype`: bf16 for f32, else itself.
DType wire_of(DType dtype);

// True if `op` is defined on `dtype`.
bool reducible(DType dtype, ReduceOp op);

// Lower-case names as users write them: "float32", "sum", "reduce_scatter".
std::string_view name_of(DType dtype);
std::string_view name_of(ReduceOp op);
std::string_view name_of(Collective collective);

// The inverse. Throws InvalidArgument naming the accepted words.
DType parse_dtype(std::string_view name);
ReduceOp parse_reduce_op(std::string_view name);
Collective parse_collective(std::string_view name);

}  // namespace weft

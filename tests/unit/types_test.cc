#include "weft/types.h"

#include <gtest/gtest.h>

#include <string>

#include "weft/error.h"

namespace weft {
namespace {

struct DTypeCase {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  DType accumulator;
  // sum prod min max avg premul_sum bit_and bit_or bit_xor: 'x' where defined.
  std::string_view ops;
};

constexpr DTypeCase kDTypeCases[] = {
    {DType::kBool, "bool", 1, DType::kBool, "xxxx..xxx"},
    {DType::kU8, "uint8", 1, DType::kU8, "xxxx..xxx"},
    {DType::kI8, "int8", 1, DType::kI8, "xxxx..xxx"},
    {DType::kU16, "uint16", 2, DType::kU16, "xxxx..xxx"},
    {DType::kI16, "int16", 2, DType::kI16, "xxxx..xxx"},
    {DType::kU32, "uint32", 4, DType::kU32, "xxxx..xxx"},
    {DType::kI32, "int32", 4, DType::kI32, "xxxx..xxx"},
    {DType::kU64, "uint64", 8, DType::kU64, "xxxx..xxx"},
    {DType::kI64, "int64", 8, DType::kI64, "xxxx..xxx"},
    {DType::kF16, "float16", 2, DType::kF32, "xxxxxx..."},
    {DType::kBF16, "bfloat16", 2, DType::kF32, "xxxxxx..."},
    {DType::kF32, "float32", 4, DType::kF32, "xxxxxx..."},
    {DType::kF64, "float64", 8, DType::kF64, "xxxxxx..."},
    {DType::kC64, "complex64", 8, DType::kC64, "xx..xx..."},
    {DType::kC128, "complex128", 16, DType::kC128, "xx..xx..."},
    {DType::kF8E4M3, "float8_e4m3fn", 1, DType::kF8E4M3, "........."},
    {DType::kF8E5M2, "float8_e5m2", 1, DType::kF8E5M2, "........."},
};

TEST(Types, EveryDType) {
  ASSERT_EQ(std::size(kDTypeCases), std::size_t{kDTypes});
  for (const DTypeCase& expected : kDTypeCases) {
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(name_of(expected.dtype), expected.name);
    EXPECT_EQ(parse_dtype(expected.name), expected.dtype);
    EXPECT_EQ(size_of(expected.dtype), expected.bytes);
    EXPECT_EQ(accumulator_of(expected.dtype), expected.accumulator);
    EXPECT_EQ(is_narrow(expected.dtype), expected.accumulator != expected.dtype);
    for (int op = 0; op < kReduceOps; ++op) {
      EXPECT_EQ(reducible(expected.dtype, static_cast<ReduceOp>(op)),
                expected.ops[static_cast<std::size_t>(op)] == 'x')
          << name_of(static_cast<ReduceOp>(op));
    }
  }
}

TEST(Types, EveryReduceOpHasAName) {
  constexpr std::string_view kNames[] = {"sum",        "prod",    "min",    "max",    "avg",
                                         "premul_sum", "bit_and", "bit_or", "bit_xor"};
  for (int i = 0; i < kReduceOps; ++i) {
    const auto op = static_cast<ReduceOp>(i);
    EXPECT_EQ(name_of(op), kNames[i]);
    EXPECT_EQ(parse_reduce_op(kNames[i]), op);
  }
}

TEST(Types, EveryCollectiveHasAName) {
  constexpr std::string_view kNames[] = {"allreduce",      "broadcast", "reduce", "allgather",
                                         "reduce_scatter", "alltoall",  "gather", "scatter",
                                         "barrier",        "sendrecv"};
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(name_of(collective), kNames[i]);
    EXPECT_EQ(parse_collective(kNames[i]), collective);
  }
}

TEST(Types, AWrongWordIsRefusedWithTheAcceptedOnes) {
  struct Case {
    void (*parse)(std::string_view);
    std::string_view word, accepted;
  };
  const Case cases[] = {
      {[](std::string_view s) { parse_dtype(s); }, "float33", "bfloat16, float32"},
      {[](std::string_view s) { parse_dtype(s); }, "", "bool, uint8"},
      {[](std::string_view s) { parse_reduce_op(s); }, "SUM", "sum, prod"},
      {[](std::string_view s) { parse_collective(s); }, "allreduce ", "allreduce, broadcast"},
  };
  for (const Case& expected : cases) {
    try {
      expected.parse(expected.word);
      ADD_FAILURE() << "accepted \"" << expected.word << '"';
    } catch (const InvalidArgument& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find('"' + std::string(expected.word) + '"'), std::string::npos) << text;
      EXPECT_NE(text.find(expected.accepted), std::string::npos) << text;
    }
  }
}

TEST(Types, NumbersOutOfRangeHaveNoSizeButAName) {
  EXPECT_THROW(size_of(static_cast<DType>(200)), InternalError);
  EXPECT_THROW(reducible(DType::kF32, static_cast<ReduceOp>(200)), InternalError);
  EXPECT_EQ(name_of(static_cast<DType>(200)), "unknown");
  EXPECT_EQ(name_of(static_cast<ReduceOp>(200)), "unknown");
  EXPECT_EQ(name_of(static_cast<Collective>(200)), "unknown");
}

}  // namespace
}  // namespace weft

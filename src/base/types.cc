#include "weft/types.h"
#include "weft/collective.h"

#include <array>
#include <string>

#include "weft/error.h"

namespace weft {
namespace {

enum class Family { kBool, kInteger, kFloating, kComplex, kOpaque };

struct DTypeRow {
  std::string_view name;
  std::size_t bytes;
  Family family;
};

// In the order of the enum.
constexpr DTypeRow kDTypeRows[] = {
    {"bool", 1, Family::kBool},           {"uint8", 1, Family::kInteger},
    {"int8", 1, Family::kInteger},        {"uint16", 2, Family::kInteger},
    {"int16", 2, Family::kInteger},       {"uint32", 4, Family::kInteger},
    {"int32", 4, Family::kInteger},       {"uint64", 8, Family::kInteger},
    {"int64", 8, Family::kInteger},       {"float16", 2, Family::kFloating},
    {"bfloat16", 2, Family::kFloating},   {"float32", 4, Family::kFloating},
    {"float64", 8, Family::kFloating},    {"complex64", 8, Family::kComplex},
    {"complex128", 16, Family::kComplex}, {"float8_e4m3fn", 1, Family::kOpaque},
    {"float8_e5m2", 1, Family::kOpaque},
};
static_assert(std::size(kDTypeRows) == kDTypes);

constexpr std::string_view kReduceOpNames[] = {"sum",        "prod",    "min",    "max",    "avg",
                                               "premul_sum", "bit_and", "bit_or", "bit_xor"};
static_assert(std::size(kReduceOpNames) == kReduceOps);

const DTypeRow& row_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= kDTypes) {
    throw InternalError("no element type has the number " + std::to_string(index));
  }
  return kDTypeRows[index];
}

// `name_at(i)` is the name of value i.
template <class Value, class NameAt>
Value parse(std::string_view what, std::string_view name, int values, NameAt name_at) {
  std::string accepted;
  for (int i = 0; i < values; ++i) {
    const auto value = static_cast<Value>(i);
    if (name_at(value) == name) return value;
    accepted.append(i == 0 ? "" : ", ").append(name_at(value));
  }
  throw InvalidArgument("\"" + std::string(name) + "\" is not " + std::string(what) +
                        "; use one of " + accepted);
}

}  // namespace

std::size_t size_of(DType dtype) { return row_of(dtype).bytes; }

bool is_narrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

DType accumulator_of(DType dtype) { return is_narrow(dtype) ? DType::kF32 : dtype; }

DType wire_of(DType dtype) { return dtype == DType::kF32 ? DType::kBF16 : dtype; }

bool reducible(DType dtype, ReduceOp op) {
  const Family family = row_of(dtype).family;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kProd:
      return family != Family::kOpaque;
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return family != Family::kOpaque && family != Family::kComplex;
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return family == Family::kFloating || family == Family::kComplex;
    case ReduceOp::kBitAnd:
    case ReduceOp::kBitOr:
    case ReduceOp::kBitXor:
      return family == Family::kInteger || family == Family::kBool;
  }
  throw InternalError("no reduction has the number " + std::to_string(static_cast<int>(op)));
}

// Names are total: a mismatch report prints numbers that came from a peer.
std::string_view name_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kDTypes ? kDTypeRows[index].name : "unknown";
}

std::string_view name_of(ReduceOp op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kReduceOps ? kReduceOpNames[index] : "unknown";
}

std::string_view name_of(Collective collective) { return traits_of(collective).name; }

DType parse_dtype(std::string_view name) {
  return parse<DType>("an element type", name, kDTypes, [](DType v) { return name_of(v); });
}

ReduceOp parse_reduce_op(std::string_view name) {
  return parse<ReduceOp>("a reduction", name, kReduceOps, [](ReduceOp v) { return name_of(v); });
}

Collective parse_collective(std::string_view name) {
  return parse<Collective>("a collective", name, kCollectives,
                           [](Collective v) { return name_of(v); });
}

}  // namespace weft

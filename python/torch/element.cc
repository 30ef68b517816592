#include "element.h"

#include <torch/headeronly/version.h>

#include <optional>
#include <string>

namespace weft::torch_adapter {

namespace {

std::optional<DType> known(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return DType::kBool;
    case at::kByte:
      return DType::kU8;
    case at::kChar:
      return DType::kI8;
    case at::kUInt16:
      return DType::kU16;
    case at::kShort:
      return DType::kI16;
    case at::kUInt32:
      return DType::kU32;
    case at::kInt:
      return DType::kI32;
    case at::kUInt64:
      return DType::kU64;
    case at::kLong:
      return DType::kI64;
    case at::kHalf:
      return DType::kF16;
    case at::kBFloat16:
      return DType::kBF16;
    case at::kFloat:
      return DType::kF32;
    case at::kDouble:
      return DType::kF64;
    case at::kComplexFloat:
      return DType::kC64;
    case at::kComplexDouble:
      return DType::kC128;
    case at::kFloat8_e4m3fn:
      return DType::kF8E4M3;
    case at::kFloat8_e5m2:
      return DType::kF8E5M2;
    default:
      return std::nullopt;
  }
}

ReduceOp operator_of(const Site& site, const c10d::ReduceOp& op) {
  switch (op.op_) {
    case c10d::ReduceOp::SUM:
      return ReduceOp::kSum;
    case c10d::ReduceOp::AVG:
      return ReduceOp::kAvg;
    case c10d::ReduceOp::PRODUCT:
      return ReduceOp::kProd;
    case c10d::ReduceOp::MIN:
      return ReduceOp::kMin;
    case c10d::ReduceOp::MAX:
      return ReduceOp::kMax;
    case c10d::ReduceOp::BAND:
      return ReduceOp::kBitAnd;
    case c10d::ReduceOp::BOR:
      return ReduceOp::kBitOr;
    case c10d::ReduceOp::BXOR:
      return ReduceOp::kBitXor;
    case c10d::ReduceOp::PREMUL_SUM:
      return ReduceOp::kPremulSum;
    case c10d::ReduceOp::UNUSED:
      break;
  }
  refuse(site, "ReduceOp.UNUSED is no reduction");
}

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
using PreMulSumSupplement = c10d::NCCLPreMulSumSupplement;
#else
using c10d::PreMulSumSupplement;
#endif

double factor_of(const Site& site, const c10d::ReduceOp& op) {
  const auto* premul = dynamic_cast<const PreMulSumSupplement*>(op.supplement_.get());
  if (!premul) refuse(site, "PREMUL_SUM comes without its factor");
  return premul->tensor_factor.defined() ? premul->tensor_factor.item<double>()
                                         : premul->double_factor;
}

// "output 2", or "tensor" where there is only one.
std::string named(const Argument& argument, std::size_t index) {
  const std::string name(argument.name);
  return argument.tensors.size() == 1 ? name : name + " " + std::to_string(index);
}

void check_usable(const Site& site, const Argument& argument, std::size_t index) {
  const at::Tensor& tensor = argument.tensors[index];
  if (!tensor.defined()) refuse(site, named(argument, index), " is undefined");
  if (tensor.layout() != at::kStrided)
    refuse(site, named(argument, index), " is ", tensor.layout(), "; give a dense tensor");
  if (!tensor.device().is_cpu())
    refuse(site, named(argument, index), " is on ", tensor.device(),
           "; Weft's ranks exchange CPU tensors");
}

}  // namespace

Element moved(at::ScalarType type) {
  if (const auto dtype = known(type)) return {*dtype, 1};
  return {DType::kU8, c10::elementSize(type)};
}

Reduction reduced(const Site& site, at::ScalarType type, const c10d::ReduceOp& op) {
  const ReduceOp weft_op = operator_of(site, op);
  const auto dtype = known(type);
  if (!dtype)
    refuse(site, name_of(weft_op), " is not defined on ", type, "; such tensors are only moved");
  return {*dtype, weft_op, weft_op == ReduceOp::kPremulSum ? factor_of(site, op) : 1.0};
}

at::ScalarType common_type(const Site& site, std::initializer_list<Argument> arguments) {
  const Argument* first = nullptr;
  for (const Argument& argument : arguments) {
    for (std::size_t i = 0; i < argument.tensors.size(); ++i) {
      check_usable(site, argument, i);
      if (!first) first = &argument;
      const auto expected = first->tensors[0].scalar_type();
      if (const auto type = argument.tensors[i].scalar_type(); type != expected)
        refuse(site, named(argument, i), " is ", type, " but ", named(*first, 0), " is ", expected,
               "; all tensors of a call have one dtype");
    }
  }
  if (!first) refuse(site, "there is no tensor");
  return first->tensors[0].scalar_type();
}

}  // namespace weft::torch_adapter

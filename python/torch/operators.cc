// torch.ops.weft: an allreduce with less between Python and the engine than torch.distributed has,
// for decode loops, where a token is some dozen small ones.
//
//   all_reduce_(tensor, group, op="sum")  in place
//   all_reduce(tensor, group, op="sum")   a new tensor, contiguous
//
// `group` is the name of a process group whose CPU backend is Weft (`group.group_name`). Both run
// on the caller, after what was started before. torch.compile sees the functional one in either
// case.
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <string>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <utility>

#include "process_group.h"

namespace weft::torch_adapter {

namespace {

c10d::ReduceOp::RedOpType reduction(const std::string& name) {
  static constexpr std::array<std::pair<const char*, c10d::ReduceOp::RedOpType>, 8> kNames{
      {{"sum", c10d::ReduceOp::SUM},
       {"avg", c10d::ReduceOp::AVG},
       {"product", c10d::ReduceOp::PRODUCT},
       {"min", c10d::ReduceOp::MIN},
       {"max", c10d::ReduceOp::MAX},
       {"band", c10d::ReduceOp::BAND},
       {"bor", c10d::ReduceOp::BOR},
       {"bxor", c10d::ReduceOp::BXOR}}};
  for (const auto& [known, op] : kNames)
    if (name == known) return op;
  throw BadArgument("torch.ops.weft.all_reduce: there is no reduction \"" + name +
                    "\"; give sum, avg, product, min, max, band, bor or bxor");
}

c10::intrusive_ptr<ProcessGroupWeft> weft_of(const std::string& group) {
  const auto backend = c10d::resolve_process_group(group)->getBackend(c10::DeviceType::CPU);
  auto ours = c10::dynamic_intrusive_pointer_cast<ProcessGroupWeft>(backend);
  if (!ours)
    throw BadArgument("torch.ops.weft.all_reduce: the CPU backend of group \"" + group + "\" is " +
                      backend->getBackendName() + ", not weft");
  return ours;
}

at::Tensor& all_reduce_(at::Tensor& tensor, const std::string& group, const std::string& op) {
  c10d::AllreduceOptions options;
  options.reduceOp = reduction(op);
  options.asyncOp = false;
  std::vector<at::Tensor> tensors{tensor};
  weft_of(group)->allreduce(tensors, options);
  return tensor;
}

at::Tensor all_reduce(const at::Tensor& tensor, const std::string& group, const std::string& op) {
  return weft_of(group)->all_reduced(tensor, reduction(op));
}

at::Tensor& all_reduce_meta_(at::Tensor& tensor, const std::string&, const std::string&) {
  return tensor;
}

at::Tensor all_reduce_meta(const at::Tensor& tensor, const std::string&, const std::string&) {
  return at::empty_like(tensor, tensor.options(), at::MemoryFormat::Contiguous);
}

// torch.compile removes writes in place before it compiles: how to do so with this one.
at::Tensor& all_reduce_functionalized_(at::Tensor& tensor, const std::string& group,
                                       const std::string& op) {
  static auto functional =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("weft::all_reduce", "")
          .typed<at::Tensor(const at::Tensor&, const std::string&, const std::string&)>();
  at::functionalization::impl::sync(tensor);
  const at::Tensor plain = at::functionalization::impl::from_functional_tensor(tensor);
  at::Tensor reduced;
  {
    at::AutoDispatchSkipFunctionalize below;
    reduced = functional.call(plain, group, op);
  }
  at::functionalization::impl::replace_(tensor, reduced);
  at::functionalization::impl::commit_update(tensor);
  at::functionalization::impl::sync(tensor);
  return tensor;
}

}  // namespace

TORCH_LIBRARY(weft, m) {
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  m.def("all_reduce_(Tensor(a!) tensor, str group, str op=\"sum\") -> Tensor(a!)", tags);
  m.def("all_reduce(Tensor tensor, str group, str op=\"sum\") -> Tensor", tags);
}

TORCH_LIBRARY_IMPL(weft, CPU, m) {
  m.impl("all_reduce_", all_reduce_);
  m.impl("all_reduce", all_reduce);
}

TORCH_LIBRARY_IMPL(weft, Meta, m) {
  m.impl("all_reduce_", all_reduce_meta_);
  m.impl("all_reduce", all_reduce_meta);
}

TORCH_LIBRARY_IMPL(weft, Functionalize, m) { m.impl("all_reduce_", all_reduce_functionalized_); }

}  // namespace weft::torch_adapter

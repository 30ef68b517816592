// The collectives that reduce.
#include "process_group.h"

#include <ATen/ops/empty_like.h>

#include <utility>

#include "arguments.h"
#include "element.h"
#include "errors.h"

namespace weft::torch_adapter {

ProcessGroupWeft::WorkPtr ProcessGroupWeft::allreduce(Tensors& tensors,
                                                      const c10d::AllreduceOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllReduce);
    const at::Tensor& tensor = only(here, "tensors", tensors);
    if (tensor.is_sparse()) return allreduce_sparse(tensors, opts);
    const Reduction by = reduced(here, common_type(here, {{"tensor", tensors}}), opts.reduceOp);
    Job job;
    void* data = job.update(here, tensor);
    job.add({Collective::kAllreduce, data, data, static_cast<std::size_t>(tensor.numel()), by.dtype,
             by.op, 0, by.scale});
    return start(kAllReduce, std::move(job), tensors, tensors, opts);
  });
}

at::Tensor ProcessGroupWeft::all_reduced(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  return translating([&] {
    const Site here = site(kAllReduce);
    const Reduction by = reduced(here, common_type(here, {{"tensor", tensor}}), op);
    const at::Tensor output =
        at::empty_like(tensor, tensor.options(), at::MemoryFormat::Contiguous);
    Job job;
    job.add(Call{Collective::kAllreduce, job.read(tensor), job.write(here, output),
                 static_cast<std::size_t>(tensor.numel()), by.dtype, by.op, 0, by.scale});
    start(kAllReduce, std::move(job), {tensor}, {output}, kNoTimeout, false);
    return output;
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllReduceCoalesced);
    if (tensors.empty()) refuse(here, "there is no tensor");
    Job job;
    for (at::TensorList rest = tensors; !rest.empty();) {
      const at::TensorList next = rest.slice(0, pack(rest));
      rest = rest.slice(next.size());
      const Reduction by = reduced(here, common_type(here, {{"tensors", next}}), opts.reduceOp);
      void* data = job.update(here, next);
      job.add({Collective::kAllreduce, data, data, static_cast<std::size_t>(total(next)), by.dtype,
               by.op, 0, by.scale});
    }
    return start(kAllReduceCoalesced, std::move(job), tensors, tensors, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::reduce(Tensors& tensors,
                                                   const c10d::ReduceOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kReduce);
    const at::Tensor& tensor = only(here, "tensors", tensors);
    const Reduction by = reduced(here, common_type(here, {{"tensor", tensors}}), opts.reduceOp);
    const int root = static_cast<int>(opts.rootRank);
    Job job;
    void* output = rank_ == root ? job.update(here, tensor) : nullptr;
    const void* input = output ? output : job.read(tensor);
    job.add({Collective::kReduce, input, output, static_cast<std::size_t>(tensor.numel()), by.dtype,
             by.op, root, by.scale});
    return start(kReduce, std::move(job), tensors, tensors, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::reduce_scatter(Tensors& outputs, Lists& inputs,
                                                           const c10d::ReduceScatterOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kReduceScatter);
    const at::Tensor& output = only(here, "outputs", outputs);
    const Tensors& list = one_a_rank(here, "inputs", inputs, size_);
    const Reduction by =
        reduced(here, common_type(here, {{"output", outputs}, {"input", list}}), opts.reduceOp);
    check_own(here, list, output);
    Job job;
    Call call{Collective::kReduceScatter,
              job.read(list),
              job.write(here, output),
              static_cast<std::size_t>(output.numel()),
              by.dtype,
              by.op,
              0,
              by.scale};
    if (!uniform(list)) call.input_counts = job.keep_counts(counts_of(list, {by.dtype, 1}));
    job.add(call);
    return start(kReduceScatter, std::move(job), list, outputs, opts);
  });
}

void ProcessGroupWeft::add_reduce_scatter(Job& job, const Site& site, at::TensorList outputs,
                                          at::TensorList inputs, const c10d::ReduceOp& op) const {
  const Reduction by =
      reduced(site, common_type(site, {{"output", outputs}, {"input", inputs}}), op);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].numel() != outputs[i].numel() * size_)
      refuse(site, "the input has ", inputs[i].numel(), " elements; give it ", size_, " times the ",
             outputs[i].numel(), " of the output");
  const void* read = nullptr;
  if (inputs.size() == 1) {
    read = job.read(inputs);
  } else {
    Tensors whole;
    for (const at::Tensor& input : inputs) whole.push_back(job.contiguous_input(input));
    read = job.read(parts_by_rank(whole, size_));
  }
  job.add({Collective::kReduceScatter, read, job.write(site, outputs),
           static_cast<std::size_t>(total(outputs)), by.dtype, by.op, 0, by.scale});
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) {
  return attempt([&]() -> WorkPtr {
    Job job;
    add_reduce_scatter(job, site(kReduceScatterBase), output, input, opts.reduceOp);
    return start(kReduceScatterBase, std::move(job), {input}, {output}, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kReduceScatterCoalesced);
    check_pairs(here, outputs, inputs);
    Job job;
    for (std::size_t i = 0, next = 0; i < inputs.size(); i = next) {
      next = i + pack(at::TensorList(outputs).slice(i));
      add_reduce_scatter(job, here, at::TensorList(outputs).slice(i, next - i),
                         at::TensorList(inputs).slice(i, next - i), opts.reduceOp);
    }
    return start(kReduceScatterCoalesced, std::move(job), inputs, outputs, opts);
  });
}

}  // namespace weft::torch_adapter

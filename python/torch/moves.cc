// The collectives that only move, and the barrier.
#include "process_group.h"

#include <utility>

#include "arguments.h"
#include "element.h"
#include "errors.h"

namespace weft::torch_adapter {

ProcessGroupWeft::WorkPtr ProcessGroupWeft::broadcast(Tensors& tensors,
                                                      const c10d::BroadcastOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kBroadcast);
    const at::Tensor& tensor = only(here, "tensors", tensors);
    const Element element = moved(common_type(here, {{"tensor", tensors}}));
    const int root = static_cast<int>(opts.rootRank);
    Job job;
    void* data = rank_ == root ? const_cast<void*>(job.read(tensor)) : job.write(here, tensor);
    job.add({Collective::kBroadcast, data, data, element.count(tensor.numel()), element.dtype,
             ReduceOp::kSum, root});
    return start(kBroadcast, std::move(job), tensors, tensors, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::allgather(Lists& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllGather);
    const at::Tensor& input = only(here, "inputs", inputs);
    const Tensors& list = one_a_rank(here, "outputs", outputs, size_);
    const Element element = moved(common_type(here, {{"input", inputs}, {"output", list}}));
    check_own(here, list, input);
    Job job;
    Call call{Collective::kAllgather, job.read(input), job.write(here, list),
              element.count(input.numel()), element.dtype};
    if (!uniform(list)) call.output_counts = job.keep_counts(counts_of(list, element));
    job.add(call);
    return start(kAllGather, std::move(job), inputs, list, opts);
  });
}

void ProcessGroupWeft::add_allgather(Job& job, const Site& site, at::TensorList outputs,
                                     at::TensorList inputs) const {
  const Element element = moved(common_type(site, {{"input", inputs}, {"output", outputs}}));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (outputs[i].numel() != inputs[i].numel() * size_)
      refuse(site, "the output has ", outputs[i].numel(), " elements; give it ", size_,
             " times the ", inputs[i].numel(), " of the input");
  const void* read = job.read(inputs);
  void* written = nullptr;
  if (outputs.size() == 1) {
    written = job.write(site, outputs);
  } else {
    Tensors whole;
    for (const at::Tensor& output : outputs) whole.push_back(job.contiguous_output(site, output));
    written = job.write(site, parts_by_rank(whole, size_));
  }
  job.add({Collective::kAllgather, read, written, element.count(total(inputs)), element.dtype});
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                            const c10d::AllgatherOptions& opts) {
  return attempt([&]() -> WorkPtr {
    Job job;
    add_allgather(job, site(kAllGatherBase), output, input);
    return start(kAllGatherBase, std::move(job), {input}, {output}, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllGatherCoalesced);
    check_pairs(here, outputs, inputs);
    Job job;
    for (std::size_t i = 0, next = 0; i < inputs.size(); i = next) {
      next = i + pack(at::TensorList(inputs).slice(i));
      add_allgather(job, here, at::TensorList(outputs).slice(i, next - i),
                    at::TensorList(inputs).slice(i, next - i));
    }
    return start(kAllGatherCoalesced, std::move(job), inputs, outputs, opts);
  });
}

// outputs[rank][i] is what inputs[i] is on that rank.
ProcessGroupWeft::WorkPtr ProcessGroupWeft::allgather_coalesced(
    Lists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllGatherCoalesced);
    if (outputs.size() != static_cast<std::size_t>(size_))
      refuse(here, "there are ", outputs.size(), " output lists; give one for each of the ", size_,
             " ranks");
    Tensors flat;
    for (const Tensors& list : outputs) {
      check_pairs(here, list, inputs);
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].numel() != inputs[i].numel())
          refuse(here, "output ", i, " has sizes ", list[i].sizes(), ", input ", i, " has ",
                 inputs[i].sizes());
      flat.insert(flat.end(), list.begin(), list.end());
    }
    const Element element = moved(common_type(here, {{"inputs", inputs}, {"outputs", flat}}));
    Job job;
    job.add({Collective::kAllgather, job.read(inputs), job.write(here, flat),
             element.count(total(inputs)), element.dtype});
    return start(kAllGatherCoalesced, std::move(job), inputs, flat, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::gather(Lists& outputs, Tensors& inputs,
                                                   const c10d::GatherOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kGather);
    const at::Tensor& input = only(here, "inputs", inputs);
    const int root = static_cast<int>(opts.rootRank);
    if (rank_ != root && !outputs.empty())
      refuse(here, "there are outputs, but only the root, rank ", root, ", gathers");
    const Tensors none;
    const Tensors& list = rank_ == root ? one_a_rank(here, "outputs", outputs, size_) : none;
    const Element element = moved(common_type(here, {{"input", inputs}, {"output", list}}));
    Job job;
    Call call{Collective::kGather, job.read(input), nullptr, element.count(input.numel()),
              element.dtype};
    call.root = root;
    if (rank_ == root) {
      check_own(here, list, input);
      call.output = job.write(here, list);
      if (!uniform(list)) call.output_counts = job.keep_counts(counts_of(list, element));
    }
    job.add(call);
    return start(kGather, std::move(job), inputs, list, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::scatter(Tensors& outputs, Lists& inputs,
                                                    const c10d::ScatterOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kScatter);
    const at::Tensor& output = only(here, "outputs", outputs);
    const int root = static_cast<int>(opts.rootRank);
    if (rank_ != root && !inputs.empty())
      refuse(here, "there are inputs, but only the root, rank ", root, ", scatters");
    const Tensors none;
    const Tensors& list = rank_ == root ? one_a_rank(here, "inputs", inputs, size_) : none;
    const Element element = moved(common_type(here, {{"output", outputs}, {"input", list}}));
    Job job;
    Call call{Collective::kScatter, nullptr, job.write(here, output), element.count(output.numel()),
              element.dtype};
    call.root = root;
    if (rank_ == root) {
      check_own(here, list, output);
      call.input = job.read(list);
      if (!uniform(list)) call.input_counts = job.keep_counts(counts_of(list, element));
    }
    job.add(call);
    return start(kScatter, std::move(job), list, outputs, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                          std::vector<int64_t>& output_splits,
                                                          std::vector<int64_t>& input_splits,
                                                          const c10d::AllToAllOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllToAllBase);
    const Element element = moved(common_type(here, {{"input", input}, {"output", output}}));
    Job job;
    Call call{Collective::kAlltoall, job.read(input), job.write(here, output), 0, element.dtype};
    // Without splits every block is equal, on all ranks: count alone says it.
    const bool even = output_splits.empty() && input_splits.empty();
    const auto to = row_counts(here, "input", input, input_splits, size_, element);
    const auto from = row_counts(here, "output", output, output_splits, size_, element);
    if (even && to != from)
      refuse(here, "the input has ", input.numel(), " elements and the output ", output.numel(),
             "; give both the same, or split sizes");
    if (even) {
      call.count = to[0];
    } else {
      call.input_counts = job.keep_counts(to);
      call.output_counts = job.keep_counts(from);
    }
    job.add(call);
    return start(kAllToAllBase, std::move(job), {input}, {output}, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::alltoall(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllToAllOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllToAll);
    if (inputs.size() != static_cast<std::size_t>(size_) || outputs.size() != inputs.size())
      refuse(here, "there are ", inputs.size(), " inputs and ", outputs.size(),
             " outputs; give one of each for each of the ", size_, " ranks");
    const Element element = moved(common_type(here, {{"input", inputs}, {"output", outputs}}));
    Job job;
    Call call{Collective::kAlltoall, job.read(inputs), job.write(here, outputs), 0, element.dtype};
    // Always by counts: that they are equal here does not say that they are elsewhere.
    call.input_counts = job.keep_counts(counts_of(inputs, element));
    call.output_counts = job.keep_counts(counts_of(outputs, element));
    job.add(call);
    return start(kAllToAll, std::move(job), inputs, outputs, opts);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::barrier(const c10d::BarrierOptions& opts) {
  return attempt([&]() -> WorkPtr {
    Job job;
    job.add(Call{});
    return start(kBarrier, std::move(job), {}, {}, opts);
  });
}

}  // namespace weft::torch_adapter

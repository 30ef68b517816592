// c10d's backend over a Weft communicator: init_process_group("weft").
//
// Each method turns tensors into one or a few weft::Call and nothing else. Ranks are the
// group's own. Where the caller does not want a handle (opts.asyncOp is false) the call runs
// on its thread and there is no Work.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "completion_pool.h"
#include "job.h"
#include "operation.h"
#include "weft/communicator.h"
#include "work.h"

namespace weft::torch_adapter {

// Thread safe, as far as the order of collectives allows: see weft::Communicator.
class ProcessGroupWeft final : public c10d::Backend {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  using Lists = std::vector<std::vector<at::Tensor>>;

  // Collective over the group. `store` belongs to it alone.
  ProcessGroupWeft(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                   c10::intrusive_ptr<Options> options);
  ~ProcessGroupWeft() override;

  const std::string getBackendName() const override { return "weft"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  void setTimeout(std::chrono::milliseconds timeout) override;
  bool supportsSplitting() const override { return true; }
  // Of the ranks of this group, by `ranks`; null on the others, which need not call.
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& options) override;
  // Of groups that meet in `store`.
  c10::intrusive_ptr<Backend> merge(const c10::intrusive_ptr<c10d::Store>& store,
                                    const c10::intrusive_ptr<Options>& options, const int& rank,
                                    const int& size) override;
  // Ends what is in flight, here and on the peers.
  void abort() override;
  // Waits until peers have what was sent to them, then leaves. No call follows.
  void shutdown() override;

  // Collectives are counted, point to point is not.
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }

  // Tensors whose memory peers read and write in place, so that collectives copy once less:
  // uninitialized, one-dimensional. Ordinary memory where the system has no more of the other.
  // DDP and FSDP2 ask whether to use it; a CPU's device has no index, and one rank needs none.
  bool supportsTensorAlloc(c10::DeviceIndex device) override { return device < 0 && size_ > 1; }
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  // What allreduce does with a sparse tensor. It has finished when it returns.
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPtr allgather(Lists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_coalesced(Lists& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& opts) override;
  WorkPtr gather(Lists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  WorkPtr scatter(Tensors& outputs, Lists& inputs, const c10d::ScatterOptions& opts) override;
  WorkPtr reduce_scatter(Tensors& outputs, Lists& inputs,
                         const c10d::ReduceScatterOptions& opts) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& opts) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& opts) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& opts) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  WorkPtr barrier(const c10d::BarrierOptions& opts) override;
  // Rank 0 names who has not come within the timeout: the first of them, or all.
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override;

  WorkPtr send(Tensors& tensors, int destination, int tag) override;
  WorkPtr recv(Tensors& tensors, int source, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;

 private:
  std::shared_ptr<Communicator> communicator(const Site& site) const;
  Site site(const Operation& operation) const { return {rank_, operation}; }
  // Runs or submits the calls of a job.
  template <typename Opts>
  WorkPtr start(const Operation& operation, Job job, const Tensors& inputs, const Tensors& outputs,
                const Opts& opts) {
    return start(operation, std::move(job), inputs, outputs, opts.timeout, opts.asyncOp);
  }
  WorkPtr start(const Operation& operation, Job job, const Tensors& inputs, const Tensors& outputs,
                std::chrono::milliseconds timeout, bool async);
  WorkPtr receive(const Operation& operation, Tensors& tensors, int source, int tag);
  at::Tensor all_rows(const Site& site, const at::Tensor& mine,
                      const std::vector<std::int64_t>& rows) const;
  void add_allgather(Job& job, const Site& site, const at::Tensor& output,
                     const at::Tensor& input) const;
  void add_reduce_scatter(Job& job, const Site& site, const at::Tensor& output,
                          const at::Tensor& input, const c10d::ReduceOp& op) const;

  const c10::intrusive_ptr<Options> options_;
  CompletionPool* const pool_;  // which this group has entered
  std::atomic<std::uint64_t> sequence_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<Communicator> communicator_;  // under mutex_; null after shutdown
};

}  // namespace weft::torch_adapter

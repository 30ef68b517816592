// c10d's backend over a Weft communicator: init_process_group("weft").
//
// Each method turns tensors into one or a few weft::Call and nothing else. Ranks are the
// group's own. If the caller wants no handle (opts.asyncOp is false), the call runs on its thread
// and there is no Work.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "completion_pool.h"
#include "cost.h"
#include "errors.h"
#include "group.h"
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
  bool supportsShrinking() const override { return true; }
  // Of the ranks that are not in `excluded`, called by these alone, also after a failure. With
  // flag 1 (torch's SHRINK_ABORT) what is in flight in this group is ended first.
  c10::intrusive_ptr<Backend> shrink(const std::vector<std::int64_t>& excluded, int flags,
                                     const c10::intrusive_ptr<Options>& options) override;
  // Ends what is in flight, here and on the peers.
  void abort() override;
  // Waits until peers have what was sent to them, then leaves. No call follows.
  void shutdown() override;

  // Between the two this thread's operations are only noted, and give no Work; the second starts
  // them as one operation. It also throws what one of them was refused for: torch leaves the group
  // unusable when something is thrown in between.
  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override;
  WorkPtr endCoalescing() override;

  // Between the two this thread's operations communicate nothing, and leave their tensors as they
  // are; the second gives the microseconds that they would take. Estimates are prices on a
  // topology that the first call measures: that one is collective, and throws NotImplementedError
  // where ranks outnumber their cores.
  bool supportsTimeEstimation() const override { return true; }
  void start_time_estimate();
  double end_time_estimate();

  // Called with each operation that starts from now on, when it has finished.
  void registerOnCompletionHook(Group::Hook&& hook) override;
  void waitForPendingWorks() override { group_->wait_for_hooks(); }
  // Work from now on knows how long it took.
  void enableCollectivesTiming() override { group_->time_operations(); }
  // The first failure that this rank has seen.
  c10d::ErrorType getError() override { return group_->error(); }

  // Collectives are counted, point to point is not.
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }

#ifdef C10D_BACKEND_HAS_WINDOW
  // Collective, as window.h describes. torch 2.14 and later.
  bool supportsWindow() const override { return true; }
  c10::intrusive_ptr<c10d::Window> new_window(const std::optional<at::Tensor>& tensor) override;
#endif

  // Tensors whose memory peers read and write in place, so that collectives copy once less:
  // uninitialized, one-dimensional. Ordinary memory where the system has no more of the other.
  // DDP and FSDP2 ask whether to use it; a CPU's device has no index, and one rank needs none.
  bool supportsTensorAlloc(c10::DeviceIndex device) override { return device < 0 && size_ > 1; }
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  // The same out of place, on the caller: the result, contiguous. Writes nothing to `tensor`.
  at::Tensor all_reduced(const at::Tensor& tensor, const c10d::ReduceOp& op);
  // Allreduce of a sparse tensor. It has finished when it returns.
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
  friend class WindowWeft;
  // The blocks that a thread has begun and not ended.
  struct Block {
    bool coalescing = false;
    Job job;  // what was noted
    Tensors inputs, outputs;
    std::exception_ptr failure;
    bool estimating = false;
    double microseconds = 0;
  };

  std::shared_ptr<Communicator> main_communicator(const Site& site) const;
  // That of the strand of this thread. Collective when it is first asked for on a strand.
  std::shared_ptr<Communicator> communicator(const Site& site);
  // Another one, which all ranks make under the same name.
  std::shared_ptr<Communicator> make_communicator(const std::string& name) const;
  Block* own_block();
  Block& open_block();
  // Once it has neither purpose.
  void close_block(const Block& block);
  // The return value of an operation's body. A failure between startCoalescing and endCoalescing is
  // kept;
  // one in an estimate ends that.
  template <typename Body>
  WorkPtr attempt(Body&& body);
  WorkPtr note(Block& block, const Operation& operation, Job job, const Tensors& inputs,
               const Tensors& outputs, bool async);
  void run_now(const Operation& operation, Job& job, const Tensors& inputs, std::uint64_t sequence);
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
                      const std::vector<std::int64_t>& rows);
  // One call for all.
  void add_allgather(Job& job, const Site& site, at::TensorList outputs,
                     at::TensorList inputs) const;
  void add_reduce_scatter(Job& job, const Site& site, at::TensorList outputs, at::TensorList inputs,
                          const c10d::ReduceOp& op) const;

  const c10::intrusive_ptr<Options> options_;
  const c10::intrusive_ptr<c10d::Store> store_;
  const std::shared_ptr<Group> group_;
  CompletionPool* const pool_;  // which this group has entered
  std::atomic<std::uint64_t> sequence_{0};

  mutable std::mutex mutex_;
  std::shared_ptr<Communicator> communicator_;  // under mutex_; null after shutdown
  std::map<std::string, std::shared_ptr<Communicator>> of_strands_;  // under mutex_
  std::map<std::thread::id, Block> blocks_;                          // under mutex_
  std::atomic<int> open_blocks_{0};     // their number, to look before taking the mutex
  std::shared_ptr<const Costs> costs_;  // under mutex_; once measured
};

template <typename Body>
ProcessGroupWeft::WorkPtr ProcessGroupWeft::attempt(Body&& body) {
  try {
    return translating(std::forward<Body>(body));
  } catch (...) {
    Block* const block = own_block();
    if (!block) throw;
    if (block->coalescing) {
      if (!block->failure) block->failure = std::current_exception();
      return nullptr;
    }
    // torch does not end an estimate that something was thrown in.
    end_time_estimate();
    throw;
  }
}

}  // namespace weft::torch_adapter

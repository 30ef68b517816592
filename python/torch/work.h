// One operation in flight, as torch sees it.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "group.h"
#include "job.h"
#include "operation.h"
#include "weft/communicator.h"

namespace weft::torch_adapter {

// True if somebody profiles: then operations are recorded from their call to their end.
bool profiling();

// Holds the tensors until the operation has finished, also if nobody holds it. Nothing
// waits in it for nothing: futures, callbacks and the hop to the completion pool are made
// only for who asks. Thread safe.
class WorkWeft final : public c10d::Work {
 public:
  using Requests = c10::SmallVector<Request, 1>;

  // `outputs` is what the future completes with.
  WorkWeft(std::shared_ptr<Group> group, const Operation& operation, std::uint64_t sequence,
           std::vector<at::Tensor> inputs, std::vector<at::Tensor> outputs, Job job,
           std::weak_ptr<Communicator> communicator);
  // Lets the tensors go, or leaves them to the operation if that has not finished.
  ~WorkWeft() override;

  // While it is made, before others see it: what is to be submitted, and the request of each.
  const Job& job() const { return job_; }
  void add(Request request) { requests_.push_back(std::move(request)); }
  // All is submitted. The end of the operation happens also if nobody waits.
  void started();

  bool isCompleted() override;
  bool isSuccess() const override { return !exception(); }
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override { wait(kNoTimeout); }
  // The CPU has no stream that could wait in the caller's place.
  void blockCurrentStream() override { wait(kNoTimeout); }
  // kNoTimeout: as long as the operation itself may take.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  std::uint64_t getSequencenumber() const override { return sequence_; }
  // Milliseconds. Throws if it has not finished or the group's collectives are not timed.
  float getDuration() const override;

  const Group& group() const { return *group_; }
  // Operations of a group finish in the order of their start, point to point does not.
  bool in_order() const { return job_.transfers().empty(); }

 private:
  bool transferred() const;
  // After the transfer: copies back and ends the profile's record. Only the first call acts.
  void settle();
  // Under mutex_. The pool will call complete() when the last request has finished.
  void arm();
  void request_finished();
  // On the pool: settles and completes the futures.
  void complete();
  // Under mutex_. True if complete() has run, or will never have to.
  bool is_over() const;
  void fulfil(c10::ivalue::Future& future) const;
  void fulfil_result(c10::ivalue::Future& future) const;

  const std::shared_ptr<Group> group_;
  const std::uint64_t sequence_;
  const bool timed_;
  const Group::Clock::time_point from_;
  Group::Clock::time_point to_;  // set before the pool is asked to complete()
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> outputs_;
  Job job_;
  Requests requests_;
  std::weak_ptr<Communicator> communicator_;

  // Release-stored after copying back: a thread that sees it sees the outputs.
  std::atomic<bool> settled_{false};
  std::exception_ptr settling_error_;  // set before settled_

  std::atomic<int> unfinished_{0};  // requests, once armed

  // Under mutex_.
  bool armed_ = false;
  bool delivered_ = false;  // complete() has taken the futures
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  c10::intrusive_ptr<c10::ivalue::Future> result_future_;
};

}  // namespace weft::torch_adapter

#include "work.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/stack.h>
#include <ATen/record_function.h>
#include <c10/util/ParallelGuard.h>

#include <optional>
#include <utility>

#include "completion_pool.h"
#include "errors.h"
#include "gil.h"
#include "symmetric_pool.h"

namespace weft::torch_adapter {

namespace {

using c10::ivalue::Future;

// Before the tensors go, whose memory others would get next.
void distrust_after_failure(const WorkWeft::Requests& requests) {
  for (const Request& request : requests)
    if (request.error()) SymmetricPool::instance().distrust();
}

// The part of an operation that outlives its Work. Tensors may have Python objects, so the
// completion pool lets them go, never the thread that finishes the operation.
struct Remains {
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;
  Job job;
  WorkWeft::Requests requests;
  std::atomic<int> unfinished;

  ~Remains() { distrust_after_failure(requests); }

  void request_finished() {
    // Acquire and release: who counts last has seen all requests finish.
    if (unfinished.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    CompletionPool::instance().post(
        {[](void* remains) { delete static_cast<Remains*>(remains); }, this});
  }
};

c10d::WorkResult kind_of(const std::exception_ptr& failure) {
  if (!failure) return c10d::WorkResult::SUCCESS;
  try {
    std::rethrow_exception(failure);
  } catch (const Timeout&) {
    return c10d::WorkResult::TIMEOUT;
  } catch (...) {
    return c10d::WorkResult::COMM_ERROR;
  }
}

// An allgather's future has one tensor with a first dimension for the ranks, as NCCL's: the
// stock quantization hooks index it so. If ranks differ in size it has them one by one.
std::vector<at::Tensor> stacked(const std::vector<at::Tensor>& outputs) {
  for (const at::Tensor& output : outputs)
    if (output.sizes() != outputs[0].sizes()) return outputs;
  at::AutoDispatchBelowADInplaceOrView plain_copies;
  c10::ParallelGuard serial(true);
  return {at::stack(outputs)};
}

}  // namespace

bool profiling() {
  return at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE).has_value();
}

WorkWeft::WorkWeft(std::shared_ptr<Group> group, const Operation& operation, std::uint64_t sequence,
                   std::vector<at::Tensor> inputs, std::vector<at::Tensor> outputs, Job job,
                   std::weak_ptr<Communicator> communicator)
    : Work(group->rank, operation.type, profiling() ? operation.title : nullptr,
           profiling() ? std::make_optional(inputs) : std::nullopt),
      group_(std::move(group)),
      sequence_(sequence),
      timed_(group_->timed()),
      from_(timed_ ? Group::Clock::now() : Group::Clock::time_point()),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      job_(std::move(job)),
      communicator_(std::move(communicator)),
      settled_(!job_.copies_back() && !recordFunctionEndCallback_) {}

WorkWeft::~WorkWeft() {
  if (transferred()) {
    distrust_after_failure(requests_);
    return;
  }
  auto* remains = new Remains{std::move(inputs_), std::move(outputs_), std::move(job_), requests_,
                              static_cast<int>(requests_.size())};
  for (const Request& request : requests_)
    request.on_finish([remains] { remains->request_finished(); });
}

void WorkWeft::started() {
  if (requests_.empty()) return settle();
  if (timed_) group_->started();
  std::lock_guard lock(mutex_);
  if (timed_ || !settled_.load(std::memory_order_relaxed)) arm();
}

bool WorkWeft::transferred() const {
  for (const Request& request : requests_)
    if (!request.test()) return false;
  return true;
}

// Acquire pairs with settle(): the outputs are there.
bool WorkWeft::isCompleted() { return transferred() && settled_.load(std::memory_order_acquire); }

std::exception_ptr WorkWeft::exception() const {
  for (const Request& request : requests_)
    if (auto error = request.error()) return translated(error);
  return settled_.load(std::memory_order_acquire) ? settling_error_ : nullptr;
}

int WorkWeft::sourceRank() const {
  TORCH_CHECK(opType_ == c10d::OpType::RECV || opType_ == c10d::OpType::RECVANYSOURCE, "rank ",
              rank_, ": only a receive has a source rank");
  TORCH_CHECK(!requests_.empty() && transferred(), "rank ", rank_,
              ": the receive has not finished, so its source is not known; wait() for it");
  return requests_.front().source();
}

bool WorkWeft::wait(std::chrono::milliseconds timeout) {
  WithoutGil blocking;
  translating([&] {
    try {
      for (const Request& request : requests_) request.wait(timeout);
    } catch (const Error&) {
      group_->failed(std::current_exception());
      throw;
    }
  });
  settle();
  if (settling_error_) std::rethrow_exception(settling_error_);
  if (timed_ && !requests_.empty()) getFuture()->wait();  // then the duration is known
  return true;
}

void WorkWeft::abort() {
  if (auto communicator = communicator_.lock())
    communicator->abort("rank " + std::to_string(rank_) + " aborted an operation");
}

void WorkWeft::settle() {
  if (settled_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  if (settled_.load(std::memory_order_relaxed)) return;
  try {
    if (!exception()) job_.copy_back();
  } catch (...) {
    settling_error_ = std::current_exception();
  }
  if (recordFunctionEndCallback_) std::exchange(recordFunctionEndCallback_, nullptr)();
  settled_.store(true, std::memory_order_release);
}

void WorkWeft::arm() {
  if (armed_) return;
  CompletionPool::instance().prepare();
  armed_ = true;
  unfinished_.store(static_cast<int>(requests_.size()), std::memory_order_relaxed);
  // One reference for all callbacks. The last callback passes it to the pool. It may be the last
  // reference, and tensors must not be released on the thread that finishes the request.
  c10::intrusive_ptr<WorkWeft>::reclaim_copy(this).release();
  for (const Request& request : requests_) request.on_finish([this] { request_finished(); });
}

void WorkWeft::request_finished() {
  // Acquire and release: who counts last has seen all requests finish.
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (timed_) to_ = Group::Clock::now();
  CompletionPool::instance().post({[](void* work) {
                                     auto self = c10::intrusive_ptr<WorkWeft>::reclaim(
                                         static_cast<WorkWeft*>(work));
                                     self->complete();
                                   },
                                   this});
}

void WorkWeft::complete() {
  settle();
  c10::intrusive_ptr<Future> future, result_future;
  {
    std::lock_guard lock(mutex_);
    delivered_ = true;  // a future that is asked for later is complete from the start
    future = future_;
    result_future = result_future_;
  }
  for (const Request& request : requests_)
    if (auto error = request.error()) group_->failed(error);
  if (result_future) fulfil_result(*result_future);
  if (future) fulfil(*future);
  if (timed_) group_->finished(opType_, sequence_, from_, to_);
}

float WorkWeft::getDuration() const {
  std::unique_lock lock(mutex_);
  TORCH_CHECK(timed_, "rank ", rank_,
              ": this operation was not timed; call _enable_collectives_timing() on its group");
  TORCH_CHECK(delivered_, "rank ", rank_, ": the operation has not finished; wait() for it");
  return std::chrono::duration<float, std::milli>(to_ - from_).count();
}

bool WorkWeft::is_over() const { return delivered_ || (!armed_ && transferred()); }

c10::intrusive_ptr<Future> WorkWeft::getFuture() {
  std::lock_guard lock(mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()));
  if (is_over())
    fulfil(*future_);
  else
    arm();
  return future_;
}

c10::intrusive_ptr<Future> WorkWeft::getFutureResult() {
  std::lock_guard lock(mutex_);
  if (result_future_) return result_future_;
  result_future_ = c10::make_intrusive<Future>(c10::AnyType::get());
  if (is_over())
    fulfil_result(*result_future_);
  else
    arm();
  return result_future_;
}

void WorkWeft::fulfil(Future& future) const {
  if (auto failure = exception())
    future.setError(failure);
  else
    future.markCompleted(opType_ == c10d::OpType::ALLGATHER ? stacked(outputs_) : outputs_);
}

void WorkWeft::fulfil_result(Future& future) const {
  auto failure = settling_error_;
  for (const Request& request : requests_)
    if (auto error = request.error(); error && !failure) failure = error;
  future.markCompleted(static_cast<std::int64_t>(kind_of(failure)));
}

}  // namespace weft::torch_adapter

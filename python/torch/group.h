// The state that a process group shares with its operations, which may outlive it: its name, and
// the hook for their ends.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace weft::torch_adapter {

// Thread safe.
class Group : public std::enable_shared_from_this<Group> {
 public:
  using Hook = std::function<void(std::shared_ptr<c10d::WorkInfo>)>;
  using Clock = std::chrono::steady_clock;

  Group(int rank, std::string name) : rank(rank), name(std::move(name)) {}

  const int rank;
  const std::string name;  // equal on all ranks

  // Whether operations note when they started and finished.
  bool timed() const { return timed_.load(std::memory_order_relaxed); }
  void time_operations() { timed_.store(true, std::memory_order_relaxed); }

  // Called for each timed operation after its end, one after another, on a thread of the
  // completion pool. Replaces the hook there is.
  void set_hook(Hook hook);
  // An operation was started; `finished` follows once, also if it failed.
  void started();
  void finished(c10d::OpType type, std::uint64_t sequence, Clock::time_point from,
                Clock::time_point to);
  // Until the hook has been called for everything that was started.
  void wait_for_hooks();

  // Records a failed operation that this rank has seen; error() is that of the first.
  void failed(const std::exception_ptr& failure);
  c10d::ErrorType error() const { return error_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> timed_{false};                                // by itself
  std::atomic<c10d::ErrorType> error_{c10d::ErrorType::SUCCESS};  // by itself
  std::mutex mutex_;
  std::condition_variable all_told_;
  std::shared_ptr<const Hook> hook_;  // under mutex_
  int untold_ = 0;                    // under mutex_: started, and the hook not yet called
};

}  // namespace weft::torch_adapter

// An operation of a window in flight, as torch sees it.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "group.h"
#include "operation.h"

namespace weft::torch_adapter {

// Has no future: nothing of a window tells when a signal comes. Thread safe.
class WindowWork final : public c10d::Work {
 public:
  // How it ends. Both throw what ended the window.
  struct End {
    std::function<bool()> reached;
    std::function<void(std::chrono::milliseconds)> await;
  };

  // `limit`: how long wait() waits if it is not told.
  WindowWork(std::shared_ptr<Group> group, const Operation& operation, End end,
             std::chrono::milliseconds limit);

  bool isCompleted() override;
  bool isSuccess() const override { return !exception(); }
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override { return {}; }
  void synchronize() override { wait(kNoTimeout); }
  // The CPU has no stream that could wait in the caller's place.
  void blockCurrentStream() override { wait(kNoTimeout); }
  // After a timeout it may be called again.
  bool wait(std::chrono::milliseconds timeout) override;

 private:
  // Keeps what the operation has failed with, in torch's type.
  void fail();

  const std::shared_ptr<Group> group_;
  const End end_;
  const std::chrono::milliseconds limit_;
  mutable std::mutex state_;
  bool reached_ = false;        // under state_
  std::exception_ptr failure_;  // under state_
};

}  // namespace weft::torch_adapter

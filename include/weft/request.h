// What a call that was submitted gives: by it one waits.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace weft {

// A collective in flight. Copies refer to the same operation. Thread safe.
class Request {
 public:
  Request() = default;
  // True once it has finished, also if it failed. Never blocks. Without a worker (WorkerOptions) it
  // drives the calls under way, and may call their callbacks.
  bool test() const;
  // Waits until it has finished. Throws its error. The calling thread may do the work. zero: the
  // communicator's timeout.
  void wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const;
  // Its error; null if it has not failed (yet).
  std::exception_ptr error() const;
  // `callback` is called once. If the operation has finished it is called at once, else on the
  // thread that finishes it. It must not block. It may submit further calls.
  void on_finish(std::function<void()> callback) const;
  // For a receive: the rank that sent. Valid when finished.
  int source() const;

  struct State;
  explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft

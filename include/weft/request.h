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
  // True once it has finished, well or not. Never blocks.
  bool test() const;
  // Until it has finished. Throws what it failed with. The calling thread may do the work.
  // zero: the communicator's timeout.
  void wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const;
  // What it failed with; null if it has not (yet).
  std::exception_ptr error() const;
  // Called once, when it has finished, on the thread that finished it, or at once if it
  // has. It must not block; it may submit further calls.
  void on_finish(std::function<void()> callback) const;
  // For a receive: the rank that sent. Valid when finished.
  int source() const;

  struct State;
  explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft

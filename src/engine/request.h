// A collective in flight, as its submitter sees it.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/fabric.h"
#include "weft/request.h"

namespace weft {

class Engine;

struct Request::State {
  State(std::shared_ptr<Engine> engine, std::chrono::milliseconds timeout,
        std::function<void()> interrupt)
      : engine(std::move(engine)), timeout(timeout), interrupt(std::move(interrupt)) {}

  // Acquire pairs with finish(): the outputs and the error are visible.
  bool done() const { return finished.load(std::memory_order_acquire); }
  // Marks the request finished and calls the callbacks, on this thread. Once.
  void finish(std::exception_ptr failure);

  const std::shared_ptr<Engine> engine;
  const std::chrono::milliseconds timeout;
  const std::function<void()> interrupt;  // see CommunicatorOptions
  // Release-stored after error and source are set: a thread that sees it sees them.
  std::atomic<bool> finished{false};
  std::exception_ptr error;
  int source = -1;

  std::mutex mutex;  // callbacks, and the order of finished against them
  std::vector<std::function<void()>> callbacks;
};

}  // namespace weft

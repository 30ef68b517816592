#include "window_work.h"

#include <utility>

#include "errors.h"
#include "gil.h"

namespace weft::torch_adapter {

WindowWork::WindowWork(std::shared_ptr<Group> group, const Operation& operation, End end,
                       std::chrono::milliseconds limit)
    : Work(group->rank, operation.type),
      group_(std::move(group)),
      end_(std::move(end)),
      limit_(limit) {}

std::exception_ptr WindowWork::exception() const {
  std::lock_guard lock(state_);
  return failure_;
}

void WindowWork::fail() {
  group_->failed(std::current_exception());
  std::lock_guard lock(state_);
  failure_ = translated(std::current_exception());
}

bool WindowWork::isCompleted() {
  {
    std::lock_guard lock(state_);
    if (reached_ || failure_) return true;
  }
  try {
    if (!end_.reached()) return false;
  } catch (const Error&) {
    fail();
    return true;
  }
  std::lock_guard lock(state_);
  return reached_ = true;
}

bool WindowWork::wait(std::chrono::milliseconds timeout) {
  WithoutGil blocking;
  if (!isCompleted()) {
    translating([&] {
      try {
        end_.await(timeout > kNoTimeout ? timeout : limit_);
        // end_.reached() may learn of it a moment later.
        std::lock_guard lock(state_);
        reached_ = true;
      } catch (const Timeout&) {
        throw;  // the window is as good as before
      } catch (const Error&) {
        fail();
      }
    });
  }
  if (const auto failure = exception()) std::rethrow_exception(failure);
  return true;
}

}  // namespace weft::torch_adapter

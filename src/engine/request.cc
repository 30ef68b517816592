#include "engine/request.h"

#include <utility>

#include "base/duration_text.h"
#include "engine/engine.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::chrono::seconds kGrace(1);

}  // namespace

void Request::State::finish(std::exception_ptr failure) {
  std::vector<std::function<void()>> ready;
  {
    std::lock_guard lock(mutex);
    error = std::move(failure);
    finished.store(true, std::memory_order_release);
    ready.swap(callbacks);
  }
  for (auto& callback : ready) callback();
}

bool Request::test() const {
  if (!state_ || state_->done()) return true;
  state_->engine->poll();
  return state_->done();
}

void Request::wait(std::chrono::milliseconds timeout) const {
  if (!state_) return;
  if (!state_->done()) {
    const auto limit = timeout.count() ? timeout : state_->timeout;
    const auto ends_within = [this](std::chrono::milliseconds time) {
      return state_->engine->drive_until([this] { return state_->done(); }, Clock::now() + time,
                                         state_->interrupt);
    };
    // Without a limit of the caller's, the operation has a deadline of its own; the grace lets it
    // report its cause first. It begins here: this process may have stood still until now.
    if (!ends_within(limit) && (timeout.count() || !ends_within(kGrace)))
      throw Timeout("the operation has not finished within " + duration_text(limit) +
                    "; it goes on, wait again or abort the communicator");
  }
  if (state_->error) std::rethrow_exception(state_->error);
}

std::exception_ptr Request::error() const {
  return state_ && state_->done() ? state_->error : nullptr;
}

void Request::on_finish(std::function<void()> callback) const {
  if (state_) {
    std::lock_guard lock(state_->mutex);
    if (!state_->done()) {
      state_->callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

int Request::source() const { return state_ ? state_->source : -1; }

}  // namespace weft

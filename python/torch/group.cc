#include "group.h"

#include <c10/util/Logging.h>

#include <utility>

#include "gil.h"
#include "strands.h"
#include "weft/error.h"

namespace weft::torch_adapter {

void Group::set_hook(Hook hook) {
  std::lock_guard lock(mutex_);
  hook_ = std::make_shared<const Hook>(std::move(hook));
  time_operations();
}

void Group::started() {
  std::lock_guard lock(mutex_);
  ++untold_;
}

void Group::finished(c10d::OpType type, std::uint64_t sequence, Clock::time_point from,
                     Clock::time_point to) {
  std::lock_guard lock(mutex_);
  if (!hook_) {
    if (--untold_ == 0) all_told_.notify_all();
    return;
  }
  auto info = std::make_shared<c10d::WorkInfo>(type, sequence, from, to, to - from);
  post_in_order("hooks of " + name, [self = shared_from_this(), hook = hook_, info] {
    try {
      (*hook)(info);
    } catch (const std::exception& error) {
      LOG(ERROR) << "weft: rank " << self->rank << ": a completion hook threw: " << error.what();
    }
    std::lock_guard told(self->mutex_);
    if (--self->untold_ == 0) self->all_told_.notify_all();
  });
}

void Group::wait_for_hooks() {
  WithoutGil blocking;  // hooks take it
  std::unique_lock lock(mutex_);
  all_told_.wait(lock, [this] { return untold_ == 0; });
}

void Group::failed(const std::exception_ptr& failure) {
  auto kind = c10d::ErrorType::COMM_ERROR;
  try {
    std::rethrow_exception(failure);
  } catch (const Timeout&) {
    kind = c10d::ErrorType::TIMEOUT;
  } catch (const PeerLost&) {
    kind = c10d::ErrorType::REMOTE_ERROR;
  } catch (const Aborted&) {
    kind = c10d::ErrorType::REMOTE_ERROR;
  } catch (const InvalidArgument&) {
    return;  // the group is as good as before
  } catch (const Unsupported&) {
    return;
  } catch (...) {
  }
  auto none = c10d::ErrorType::SUCCESS;
  error_.compare_exchange_strong(none, kind, std::memory_order_relaxed);
}

}  // namespace weft::torch_adapter

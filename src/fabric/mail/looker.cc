#include "fabric/mail/looker.h"

#include <thread>
#include <utility>

#include "base/errno_text.h"
#include "base/futex.h"
#include "fabric/watcher.h"
#include "weft/error.h"

namespace weft::mail {

Looker::Looker(std::function<void()> look) : look_(std::move(look)) {
  const SignalsBlocked blocked;
  const auto body = [](void* self) -> void* {
    static_cast<Looker*>(self)->run();
    return nullptr;
  };
  const int error = ::pthread_create(&thread_, nullptr, body, this);
  if (error != 0) throw Unsupported(errno_text("pthread_create", error) + "; raise ulimit -u");
  ::pthread_setname_np(thread_, "weft-looker");
}

Looker::~Looker() {
  if (mark_.forked()) return;
  stop_.store(true);
  begin();
  ::pthread_join(thread_, nullptr);
}

void Looker::begin() {
  if (wanted_.fetch_add(1) == 0) futex_wake_all(wanted_);
}

void Looker::end() { wanted_.fetch_sub(1); }

void Looker::run() {
  while (!stop_.load()) {
    if (wanted_.load() == 0) {
      futex_wait(wanted_, 0, std::chrono::seconds(1));
      continue;
    }
    look_();
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace weft::mail

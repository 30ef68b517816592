#include "fabric/ofi/lane/ending.h"

#include <algorithm>
#include <utility>

#include "fabric/ofi/session/notice.h"

namespace weft::ofi {

bool Ending::ended_locked() {
  const auto first =
      std::find_if(heard_.begin(), heard_.end(), [](const Heard& heard) { return heard.counts(); });
  if (!ended_ && first != heard_.end()) {
    ended_ = true;
    why_ = std::move(first->why);
  }
  if (ended_) heard_.clear();
  return ended_;
}

bool Ending::end(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (ended_locked()) return false;
  ended_ = true;
  why_ = why.substr(0, Notice::kMostText);
  heard_.clear();
  // release: pairs with the acquire in why().
  trouble_.store(1, std::memory_order_release);
  return true;
}

void Ending::hear(std::shared_ptr<const Remote> from, std::uint64_t sent, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  heard_.push_back({std::move(from), sent, Clock::now() + kPatience, why});
  trouble_.store(1, std::memory_order_release);
}

void Ending::count_all() {
  std::lock_guard lock(mutex_);
  for (Heard& heard : heard_) heard.latest = Clock::now();
}

std::string Ending::why() {
  if (trouble_.load(std::memory_order_acquire) == 0) return {};
  std::lock_guard lock(mutex_);
  return ended_locked() ? why_ : std::string();
}

}  // namespace weft::ofi

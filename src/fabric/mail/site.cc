#include "fabric/mail/site.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "base/futex.h"
#include "weft/error.h"

namespace weft::mail {
namespace {

constexpr auto kLongestStay = std::chrono::milliseconds(250);
constexpr int kLooks = 20;  // a thread sleeps for at most 1 ms

}  // namespace

Site::~Site() {
  looker_.reset();
  stay_until_peers_leave();
}

// Peers that still use a lane find out that this rank has left: the library has the farewells
// within a quarter of a second. A lane whose peers never leave is waited for once.
void Site::stay_until_peers_leave() {
  while (lines->may_call()) {
    {
      std::lock_guard lock(mutex);
      drop_those_that_are_over();
      const auto now = Clock::now();
      if (std::ranges::none_of(closed_, [&](const Closed& one) { return now < one.until; })) return;
    }
    std::this_thread::yield();
  }
}

std::shared_ptr<Lane> Site::open(std::vector<int> ranks, int me) {
  std::lock_guard lock(mutex);
  drop_those_that_are_over();
  lanes_.push_back(std::make_shared<Lane>(*lines, std::move(ranks), me));
  return lanes_.back();
}

// The lane ends under the lock, now or later.
void Site::close(std::shared_ptr<Lane> lane) {
  bool last = false;
  {
    std::lock_guard lock(mutex);
    lane->say_farewell();
    closed_.push_back({std::move(lane), Clock::now() + kLongestStay});
    last = closed_.size() == lanes_.size();
    drop_those_that_are_over();
  }
  if (last) stay_until_peers_leave();
}

bool Site::progress() {
  std::lock_guard lock(mutex);
  bool any = false;
  for (const auto& lane : lanes_) any = lane->progress() || any;
  drop_those_that_are_over();
  return any;
}

void Site::drop_those_that_are_over() {
  std::erase_if(closed_, [&](const Closed& one) {
    if (!one.lane->is_over()) return false;
    std::erase(lanes_, one.lane);
    return true;
  });
}

// === Memory that payloads are sent from ===

void Site::adopt(const SymmetricBlock& block, std::shared_ptr<const void> memory) {
  std::lock_guard lock(mutex);
  memory_[block.data] = {block.bytes, std::move(memory)};
}

void Site::disown(const SymmetricBlock& block) {
  std::shared_ptr<const void> memory;  // goes without the lock
  std::lock_guard lock(mutex);
  const auto found = memory_.find(block.data);
  if (found == memory_.end())
    throw InvalidArgument("release: there is no symmetric memory at this address");
  memory = std::move(found->second.second);
  memory_.erase(found);
}

std::shared_ptr<const void> Site::keeper(const std::byte* data) const {
  const auto after = memory_.upper_bound(data);
  if (after == memory_.begin()) return nullptr;
  const auto& [begin, block] = *std::prev(after);
  return data < begin + block.first ? block.second : nullptr;
}

// === The bell ===

std::uint32_t Site::announce() {
  const std::uint32_t announced = bell_.announce();
  if (looker_) looker_->begin();
  return announced;
}

void Site::retire() {
  bell_.retire();
  if (looker_) looker_->end();
}

void Site::sleep(std::uint32_t announced) {
  // relaxed: the caller tests what it has begun itself.
  const int looks = natives_under_way.load(std::memory_order_relaxed) > 0 ? 1 : kLooks;
  for (int look = 0; look < looks && !progress(); ++look) {
    // relaxed: the caller looks again at what it waits for.
    if (bell_.door().bell.load(std::memory_order_relaxed) != announced) break;
    futex_wait(bell_.door().bell, announced, kLookEvery);
  }
  retire();
}

void Site::forward_rings(std::function<void()> instead) {
  bell_.forward(std::move(instead));
  looker_ = std::make_unique<Looker>([this] {
    if (progress()) ring();
  });
}

}  // namespace weft::mail

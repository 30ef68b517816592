#include "engine/slots.h"

#include <algorithm>
#include <utility>

namespace weft {

ArenaPool::~ArenaPool() {
  for (const auto* blocks : {&free_, &retired_})
    for (const SymmetricBlock& block : *blocks) fabric_->release(block);
}

SymmetricBlock ArenaPool::try_lease() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) return {};
  SymmetricBlock block = free_.back();
  free_.pop_back();
  return block;
}

SymmetricBlock ArenaPool::allocate() { return fabric_->allocate(kSlotBytes, MemoryUse::kInternal); }

void ArenaPool::give_back(const SymmetricBlock& block, bool idle) {
  {
    std::lock_guard lock(mutex_);
    if (!idle || free_.size() < kMostFree) {
      (idle ? free_ : retired_).push_back(block);
      return;
    }
  }
  fabric_->release(block);
}

SymmetricBlock Slots::release() { return std::exchange(block_, {}); }

int Slots::reader_of(Endpoint& endpoint, std::size_t begin, std::size_t end) {
  int found = kFree;
  std::erase_if(uses_, [&](const SlotUse& use) {
    if (use.end <= begin || end <= use.begin) return false;
    if (done(endpoint, use)) return true;
    found = use.peer;
    return false;
  });
  return found;
}

void Slots::note(std::size_t begin, std::size_t end, int peer, int channel, std::uint64_t number) {
  uses_.push_back({begin, end, peer, channel, number});
}

bool Slots::idle(Endpoint& endpoint) {
  std::erase_if(uses_, [&](const SlotUse& use) {
    return done(endpoint, use) || (endpoint.troubled() && !endpoint.lost(use.peer).empty());
  });
  return uses_.empty();
}

}  // namespace weft

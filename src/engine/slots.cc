#include "engine/slots.h"

#include <algorithm>
#include <utility>

namespace weft {

ArenaPool::~ArenaPool() {
  for (const auto* blocks : {&free_, &retired_})
    for (const SymmetricBlock& block : *blocks) fabric_->release(block);
}

SymmetricBlock ArenaPool::lease(Holder* holder) {
  std::lock_guard lock(mutex_);
  SymmetricBlock block;
  if (!free_.empty()) {
    block = free_.back();
    free_.pop_back();
  } else if (holders_.size() >= kMostHeld) {
    block = take_idle();
  }
  if (!block.data)
    block = fabric_->allocate(fabric_->lends() ? Slots::kBytes : kSlotBytes, MemoryUse::kInternal);
  if (holder) holders_.push_back(holder);
  return block;
}

SymmetricBlock ArenaPool::take_idle() {
  for (auto holder = holders_.begin(); holder != holders_.end(); ++holder) {
    const SymmetricBlock block = (*holder)->give_idle();
    if (!block.data) continue;
    holders_.erase(holder);
    return block;
  }
  return {};
}

void ArenaPool::leave(const Holder& holder) {
  std::lock_guard lock(mutex_);
  std::erase(holders_, &holder);
}

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

[[gnu::hot]] int Slots::reader_of(Endpoint& endpoint, Spot spot, std::size_t bytes) {
  int found = kFree;
  std::erase_if(uses_, [&](const SlotUse& use) {
    const auto apart = [&](std::size_t theirs, std::size_t ours) {
      return theirs + use.bytes <= ours || ours + bytes <= theirs;
    };
    if (apart(use.spot.slot, spot.slot) && apart(use.spot.place, spot.place)) return false;
    if (done(endpoint, use)) return true;
    found = use.peer;
    return false;
  });
  return found;
}

[[gnu::hot]] void Slots::note(Spot spot, std::size_t bytes, int peer, int channel,
                              std::uint64_t number) {
  uses_.push_back({spot, bytes, peer, channel, number});
}

[[gnu::hot]] Slot Slots::to_lend(std::size_t turn) const {
  const std::optional<std::size_t> next = lent_.next(turn);
  if (!next || block_.bytes < kBytes) return {};
  return {at(kSlotBytes + *next), where(kSlotBytes + *next), false, true};
}

bool Slots::read(Endpoint& endpoint) {
  std::erase_if(uses_, [&](const SlotUse& use) {
    return done(endpoint, use) || (endpoint.troubled() && !endpoint.lost(use.peer).empty());
  });
  return uses_.empty() && lent_.read(endpoint);
}

}  // namespace weft

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
  std::erase_if(readers_, [&](const Reader& reader) {
    if (reader.end <= begin || end <= reader.begin) return false;
    if (done(endpoint, reader)) return true;
    found = reader.peer;
    return false;
  });
  return found;
}

void Slots::note(std::size_t begin, std::size_t end, int peer, int channel, std::uint64_t number) {
  readers_.push_back({begin, end, peer, channel, number});
}

bool Slots::idle(Endpoint& endpoint) {
  std::erase_if(readers_, [&](const Reader& reader) {
    return done(endpoint, reader) || (endpoint.troubled() && !endpoint.lost(reader.peer).empty());
  });
  return readers_.empty();
}

}  // namespace weft

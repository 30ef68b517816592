#include "symmetric_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "per_process.h"

namespace weft::torch_adapter {

namespace {

// Tensors of nearly the same size share blocks. At most an eighth more, and pages that nobody
// touches cost nothing.
std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = std::max<std::size_t>(4096, std::bit_floor(bytes) / 8);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

SymmetricPool& SymmetricPool::instance() { return PerProcess<SymmetricPool>::get(); }

void SymmetricPool::enter() {
  std::lock_guard lock(mutex_);
  ++backends_;
}

void SymmetricPool::leave() {
  Blocks freed;
  std::lock_guard lock(mutex_);
  if (--backends_ > 0) return;
  freed.swap(kept_);
  kept_bytes_ = 0;
  most_used_bytes_ = used_bytes_;
}

void SymmetricPool::distrust() {
  Blocks freed;
  std::lock_guard lock(mutex_);
  ++era_;
  freed.swap(kept_);
  kept_bytes_ = 0;
}

SymmetricPool::Block SymmetricPool::take_kept(std::size_t bytes) {
  auto best = kept_.end();
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    const bool fits = it->bytes >= bytes && it->bytes - it->bytes / 4 <= bytes;
    // Among equals the last: it may still be in a cache.
    if (fits && (best == kept_.end() || it->bytes <= best->bytes)) best = it;
  }
  if (best == kept_.end()) return {};
  Block block = std::move(*best);
  kept_.erase(best);
  kept_bytes_ -= block.bytes;
  return block;
}

SymmetricPool::Memory SymmetricPool::take(Fabric& fabric, std::size_t bytes) {
  const std::size_t length = rounded(bytes);
  Block block;
  std::size_t era = 0;
  {
    std::lock_guard lock(mutex_);
    block = take_kept(length);
    era = era_;
  }
  if (!block.memory) {
    block.bytes = length;
    block.memory = symmetric_alloc(fabric, block.bytes);
  }
  {
    std::lock_guard lock(mutex_);
    used_bytes_ += block.bytes;
    most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
  }
  void* const data = block.memory.get();
  return {data, [this, block = std::move(block), era](void*) mutable {
            give_back(std::move(block), era);
          }};
}

SymmetricPool::Blocks SymmetricPool::surplus() {
  Blocks freed;
  while (!kept_.empty() && used_bytes_ + kept_bytes_ > 2 * most_used_bytes_) {
    kept_bytes_ -= kept_.front().bytes;
    freed.push_back(std::move(kept_.front()));
    kept_.erase(kept_.begin());
  }
  return freed;
}

void SymmetricPool::give_back(Block block, std::size_t era) {
  if (this != &PerProcess<SymmetricPool>::get()) return;  // a forked child's parent's
  Blocks freed;  // after the lock: unmapping takes its time
  std::lock_guard lock(mutex_);
  used_bytes_ -= block.bytes;
  if (backends_ == 0 || era != era_) {
    freed.push_back(std::move(block));
    return;
  }
  kept_bytes_ += block.bytes;
  kept_.push_back(std::move(block));
  freed = surplus();
}

}  // namespace weft::torch_adapter

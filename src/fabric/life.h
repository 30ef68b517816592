// Whether a peer lives. Each fabric keeps one Life for each peer, shared by all its lanes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "fabric/process.h"

namespace weft {

// Thread safe.
class Life {
 public:
  // The peer is gone. The first reason counts; false: this one comes later.
  bool end(const std::string& why) {
    std::lock_guard lock(mutex_);
    if (is_lost()) return false;
    why_ = why;
    // release: a thread that sees the loss finds everything that had arrived before.
    lost_.store(true, std::memory_order_release);
    for (auto* trouble : lanes_) set(*trouble);
    return true;
  }

  // acquire: pairs with the release in end().
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  // Why the peer is gone; empty while it lives.
  std::string lost() const {
    std::lock_guard lock(mutex_);
    return why_;
  }

  // From now on end() sets `trouble` to 1; at once if the peer is gone.
  void attach(std::atomic<std::uint32_t>* trouble) {
    std::lock_guard lock(mutex_);
    lanes_.insert(trouble);
    if (is_lost()) set(*trouble);
  }
  void detach(std::atomic<std::uint32_t>* trouble) {
    if (mark_.forked()) return;
    std::lock_guard lock(mutex_);
    lanes_.erase(trouble);
  }

 private:
  // release: who sees the trouble finds everything that the peer had sent before.
  static void set(std::atomic<std::uint32_t>& trouble) {
    trouble.store(1, std::memory_order_release);
  }

  const ForkMark mark_;
  mutable std::mutex mutex_;
  std::atomic<bool> lost_{false};
  std::string why_;
  std::set<std::atomic<std::uint32_t>*> lanes_;
};

}  // namespace weft

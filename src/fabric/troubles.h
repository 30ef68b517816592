// The lanes that a peer's loss concerns.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>

namespace weft {

// Not synchronised: its owner's lock is held around every call.
class Troubles {
 public:
  // From now on raise() sets `trouble` to 1; at once if it has been called.
  void attach(std::atomic<std::uint32_t>* trouble) {
    lanes_.insert(trouble);
    if (raised_) set(*trouble);
  }
  void detach(std::atomic<std::uint32_t>* trouble) { lanes_.erase(trouble); }
  void raise() {
    raised_ = true;
    for (auto* trouble : lanes_) set(*trouble);
  }

 private:
  // release: who sees the trouble finds everything that the peer had sent before.
  static void set(std::atomic<std::uint32_t>& trouble) {
    trouble.store(1, std::memory_order_release);
  }

  std::set<std::atomic<std::uint32_t>*> lanes_;
  bool raised_ = false;
};

}  // namespace weft

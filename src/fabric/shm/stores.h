// When this rank writes into a peer's memory.
#pragma once

#include <atomic>
#include <string>

#include "fabric/fabric.h"
#include "fabric/shm/layout.h"
#include "weft/error.h"

namespace weft::shm {

// While one exists this rank may store into peers' outputs and slots. Throws Aborted.
class Stores {
 public:
  Stores(LaneHead& head, const Endpoint& endpoint) : head_(head) {
    // relaxed: end(kFailed) fences heavily between the abort's store and its look at this word.
    // Then one of the two sees the other's store. Here the compiler is held to the order.
    head_.storing.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!endpoint.troubled()) [[likely]]
      return;
    const std::string why = endpoint.why_aborted();
    if (why.empty()) return;
    stop();
    throw Aborted(why);
  }
  ~Stores() { stop(); }
  Stores(const Stores&) = delete;

 private:
  // release: the stores are over before the word says so.
  void stop() { head_.storing.store(0, std::memory_order_release); }

  LaneHead& head_;
};

}  // namespace weft::shm

// The place where the threads of a fabric's rank sleep; only threads of this process ring.
#pragma once

#include <functional>
#include <utility>

#include "fabric/doorbell.h"

namespace weft::ofi {

// Thread safe, except forward().
class Bell {
 public:
  void ring() {
    weft::ring(door_);
    if (also_) also_();
  }
  Doorbell& door() { return door_; }
  // From now on another fabric's bell is rung with this one. Before there is anybody to ring.
  void forward(std::function<void()> also) { also_ = std::move(also); }

 private:
  Doorbell door_{};
  std::function<void()> also_;
};

}  // namespace weft::ofi

// The place where the threads of a far fabric's rank sleep; only threads of this process ring.
#pragma once

#include <functional>
#include <utility>

#include "fabric/doorbell.h"

namespace weft {

// Thread safe, except forward().
class Bell {
 public:
  void ring() {
    if (instead_)
      instead_();
    else
      weft::ring(door_);
  }
  // From now on rings another fabric's bell. Its threads sleep there, so nobody has to be
  // announced here, which would cost a fence of its own. Before there is anybody to ring.
  void forward(std::function<void()> instead) { instead_ = std::move(instead); }

  // As those of the doorbell. sleep() is for who has not forwarded.
  std::uint32_t announce() { return instead_ ? 0 : weft::announce(door_); }
  void sleep(std::uint32_t announced) { weft::sleep(door_, announced); }
  void retire() {
    if (!instead_) weft::retire(door_);
  }
  void expect_crowd() {
    if (!instead_) weft::expect_crowd(door_);
  }
  Doorbell& door() { return door_; }

 private:
  Doorbell door_{};
  std::function<void()> instead_;
};

}  // namespace weft

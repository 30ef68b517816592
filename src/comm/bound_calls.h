// The calls that a lane ran last, and the bindings made for them: training repeats a few.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "comm/planner.h"

namespace weft {

// One thread at a time.
class BoundCalls {
 public:
  // The planner outlives it.
  explicit BoundCalls(Planner& planner) : planner_(planner) {}
  BoundCalls(const BoundCalls&) = delete;
  BoundCalls& operator=(const BoundCalls&) = delete;

  // Of a call that differs from one of the last in its buffers alone, only these are checked and
  // set. The binding holds until the next call of this. Throws as Planner::bind does.
  Binding& bind(const Call& call);

 private:
  struct Bound {
    std::uint64_t used = 0;  // when last, in calls of `bind`
    bool repeats = false;    // whether another call may have the binding
    Call call;               // its text is `algorithm`, its spans are empty
    std::string algorithm;
    Binding binding;
  };
  static constexpr std::size_t kMost = 8;

  inline Bound* find(const Call& call);
  Bound& used_longest_ago();
  void remember(const Call& call, Bound& bound);

  Planner& planner_;
  std::array<Bound, kMost> bound_;
  std::uint64_t now_ = 0;
  // Of the registry that the bindings were made with: they know no algorithm registered later.
  std::uint64_t registry_ = 0;
};

}  // namespace weft

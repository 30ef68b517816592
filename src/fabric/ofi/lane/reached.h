// The copies of one peer's segments that one lane has used.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/ofi/net/memory.h"

namespace weft::ofi {

// Not synchronised: it is the endpoint's, whose calls come from one thread at a time. It owns what
// it has reached. One that the peer will not write to again is dropped when the next new one is
// reached, unless the lane has failed: a peer that works on gives up only what all have done with;
// one that failed may give up what is being read here.
class Reached {
 public:
  // Null: the peer has released it. `failed` is asked only when a new segment comes.
  template <typename Failed>
  const Mirror* find(const Mirrors& mirrors, std::uint32_t segment, Failed failed) {
    for (const Known& each : known_) {
      if (each.segment == segment) return each.mirror.get();
    }
    return add(mirrors, segment, !failed());
  }

 private:
  struct Known {
    std::uint32_t segment;
    std::shared_ptr<Mirror> mirror;
  };
  const Mirror* add(const Mirrors& mirrors, std::uint32_t segment, bool drop_gone) {
    if (drop_gone) std::erase_if(known_, [](const Known& each) { return each.mirror->gone(); });
    auto mirror = mirrors.find(segment);
    return mirror ? known_.emplace_back(Known{segment, std::move(mirror)}).mirror.get() : nullptr;
  }

  std::vector<Known> known_;
};

}  // namespace weft::ofi

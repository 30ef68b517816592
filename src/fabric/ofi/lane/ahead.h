// How far one side of a pair is ahead of the other on a channel, in bytes of payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/ofi/net/packet.h"

namespace weft::ofi {

// Of messages that are numbered in turn. One thread at a time.
class Ahead {
 public:
  void add(std::size_t bytes) {
    before_[count_ % kDepth] = total_;
    total_ += bytes;
    ++count_;
  }
  // Of the messages from number `first` on, which are at most kDepth.
  std::uint64_t bytes(std::uint64_t first) const {
    return first < count_ ? total_ - before_[first % kDepth] : 0;
  }

 private:
  std::array<std::uint64_t, kDepth> before_{};  // each message
  std::uint64_t count_ = 0, total_ = 0;
};

}  // namespace weft::ofi

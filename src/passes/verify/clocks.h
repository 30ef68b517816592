// Vector clocks: what happens before what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::verifier {

// A step that was executed, by its number in the domain's log.
using Event = std::uint32_t;

// A moment in a rank's program: its `time`-th stretch between two sends.
struct Access {
  std::int32_t rank = -1;  // -1: there was none
  std::uint32_t time = 0;
  Event event = 0;
};

inline constexpr Event kNoEvent = ~Event{0};

// A moment of `rank` that has not come yet, so nothing follows it.
inline Access unseen(int rank) { return {rank, ~std::uint32_t{0}, kNoEvent}; }

// One clock a rank. Order comes from a rank's own program and from message to wait only:
// a fabric need not wait for slots, mailboxes or flushes, so nothing may rest on that.
class Clocks {
 public:
  explicit Clocks(int ranks) : ranks_(static_cast<std::size_t>(ranks)), time_(ranks_ * ranks_) {
    for (std::size_t r = 0; r < ranks_; ++r) time_[r * ranks_ + r] = 1;
  }

  Access now(int rank, Event event) const { return {rank, row(rank)[rank], event}; }

  // True if `access` happens before what `rank` does next.
  bool covers(int rank, const Access& access) const {
    return access.rank < 0 || row(rank)[access.rank] >= access.time;
  }

  // The clock that a message of `rank` carries. Later steps of `rank` are not in it.
  std::vector<std::uint32_t> send(int rank) {
    std::vector<std::uint32_t> clock(row(rank), row(rank) + ranks_);
    ++time_[static_cast<std::size_t>(rank) * ranks_ + static_cast<std::size_t>(rank)];
    return clock;
  }
  void receive(int rank, std::span<const std::uint32_t> clock) {
    std::uint32_t* mine = time_.data() + static_cast<std::size_t>(rank) * ranks_;
    for (std::size_t r = 0; r < ranks_; ++r) mine[r] = std::max(mine[r], clock[r]);
  }

 private:
  const std::uint32_t* row(int rank) const {
    return time_.data() + static_cast<std::size_t>(rank) * ranks_;
  }

  std::size_t ranks_;
  std::vector<std::uint32_t> time_;
};

}  // namespace weft::verifier

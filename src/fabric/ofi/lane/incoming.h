// Everything that one member of a lane has sent: messages, credits, and its joining.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fabric/fabric.h"
#include "fabric/ofi/lane/inbox.h"

namespace weft::ofi {

// Written by the thread that takes packets, one at a time; read by the lane's thread. Channels are
// below
// kMaxChannels.
class Incoming {
 public:
  // False: it makes no sense.
  bool take_message(Arrived& packet);
  bool take_write(std::size_t channel, std::uint32_t number);
  void take_credit(std::size_t channel, std::uint64_t total);
  void take_joined() { joined_.fetch_add(1, std::memory_order_relaxed); }

  // Message `number` if it is shown.
  Shown at(int channel, std::uint64_t number) const;
  // The lane's thread has done with message `number`, which was shown. As Inbox::finish.
  bool finish(int channel, std::uint64_t number);
  // The total that the member has credited.
  std::uint64_t credits(int channel) const {
    // acquire: pairs with the release in take_credit().
    return credits_[static_cast<std::size_t>(channel)].load(std::memory_order_acquire);
  }
  // relaxed: what comes with later messages is ordered by them.
  std::size_t joined() const { return joined_.load(std::memory_order_relaxed); }

 private:
  Inbox& inbox(std::size_t channel);

  // Made when the first message comes.
  std::array<std::unique_ptr<Inbox>, kMaxChannels> made_;
  std::array<std::atomic<Inbox*>, kMaxChannels> inboxes_{};
  std::array<std::atomic<std::uint64_t>, kMaxChannels> credits_{};
  std::atomic<std::size_t> joined_{0};
};

}  // namespace weft::ofi

// The messages of one peer on one channel, in whatever order the network brings their parts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"
#include "fabric/ofi/packet.h"

namespace weft::ofi {

// A message is whole when its packet is here and, of a long one, its payload has been written.
// Shown are those of which all earlier ones are whole, too: the network may pass them by each
// other, the reader never sees it.
//
// One writer at a time, and one reader. An entry is written again only after its reader has
// credited it, and what credited it came before the sender's next use of it.
class Inbox {
 public:
  // False: a number that the sender may not use yet, or a packet that makes no sense.
  bool take_packet(const MessagePacket& packet, std::size_t length);
  // `number` mod kDepth.
  bool take_write(std::uint32_t number);

  // Message `number` if it is shown.
  Arrival at(std::uint64_t number) const {
    // acquire: pairs with the release in advance().
    if (number >= shown_.load(std::memory_order_acquire)) return {};
    const Entry& entry = entries_[number % kDepth];
    return {&entry.header, entry.header.bytes <= kInlineBytes ? entry.body : nullptr};
  }

 private:
  struct Entry {
    Header header;
    bool packet = false, written = false;
    std::byte body[kInlineBytes];
    bool whole() const { return packet && (written || header.bytes <= kInlineBytes); }
  };

  void advance();

  std::atomic<std::uint64_t> shown_{0};
  Entry entries_[kDepth];
};

}  // namespace weft::ofi

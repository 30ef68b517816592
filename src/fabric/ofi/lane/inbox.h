// The messages of one peer on one channel, in whatever order the network brings their parts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"
#include "fabric/ofi/net/ops.h"
#include "fabric/ofi/net/packet.h"

namespace weft::ofi {

// A message that is shown.
struct Shown {
  const Header* header = nullptr;      // null: it is not here yet
  const std::byte* payload = nullptr;  // null: it was written to its place
  // Of the sender's; of one that is delivered the bytes before it in the receiver's output.
  Location place;
};
// Header::own of a payload that was written into the receiver's output.
inline constexpr std::uint32_t kDelivered = 1;
// Header::output of a peer that lets its output be written into.
inline constexpr Location kExposed{~std::uint64_t{0}};

// A message is whole when its packet is here and, of one whose payload does not come with it, that
// has been written.
// Shown are those of which all earlier ones are whole, too: the network may pass them by each
// other, the reader never sees it.
//
// One writer at a time, and one reader. An entry is written again only after its reader has
// credited it, and what credited it came before the sender's next use of it.
class Inbox {
 public:
  // Takes a message's packet away if a payload of more than kInlineBytes comes with it. False: a
  // number that the sender may not use yet, or a packet that makes no sense.
  bool take_packet(Arrived& packet);
  // `number` mod kDepth.
  bool take_write(std::uint32_t number);

  // Message `number` if it is shown.
  Shown at(std::uint64_t number) const {
    // acquire: pairs with the release in advance().
    if (number >= shown_.load(std::memory_order_acquire)) return {};
    const Entry& entry = entries_[number % kDepth];
    return {&entry.header, entry.payload, entry.place};
  }
  // The reader has done with message `number`, before it credits it. True if the sender needs no
  // credit to use the payload's place again.
  bool finish(std::uint64_t number);

 private:
  struct Entry {
    Header header;
    Location place;
    bool packet = false, written = false;
    const std::byte* payload = nullptr;  // null: is written to its place
    Arrived kept;                        // where it lies, but in the body
    std::byte body[kInlineBytes];
    bool whole() const { return packet && (written || payload); }
  };

  void advance();

  std::atomic<std::uint64_t> shown_{0};
  Entry entries_[kDepth];
};

}  // namespace weft::ofi

// Slots for messages between two ranks that send to each other: each writes where it has just read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/fabric.h"

namespace weft {

// The slots of a lane that it lends, behind those of its plans. A slot that is lent stays with its
// reader until a message of that reader comes back in it, or until all are recalled: no plan may
// wait for it. One thread at a time.
class LentSlots {
 public:
  static constexpr std::size_t kSlots = 16;
  // A page more than they hold: equal low address bits slow some processors down.
  static constexpr std::size_t kStride = kLentBytes + 4096;
  static constexpr std::size_t kBytes = kSlots * kStride;

  LentSlots();

  // Bytes before the slot that came back last; nothing: all are lent.
  std::optional<std::size_t> next() const;
  // It went to `peer` with message `number`, of `bytes` bytes.
  void lend(int peer, int channel, std::uint64_t number, std::size_t bytes);
  // The slot so many bytes behind the first has come back, and its message has been credited.
  void come_back(std::size_t offset);
  // Whether the messages of all that are away have been credited, or their readers are gone.
  bool read(Endpoint& endpoint) const;
  // Recalls those that are away. REQUIRES read(). False: not possible yet.
  bool recall(Endpoint& endpoint);

 private:
  struct Loan {
    std::uint8_t slot;
    int peer, channel;
    std::uint64_t number;
    std::size_t bytes;
  };

  std::vector<std::uint8_t> here_;
  std::vector<Loan> lent_;
};

}  // namespace weft

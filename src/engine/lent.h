// Slots for messages between two ranks that send to each other: each writes where it has read.
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

  // Where one of those that are here lies, in bytes behind the first: of the `turn` (at least 1)
  // that came back last the one that did so first. Nothing: all are lent.
  std::optional<std::size_t> next(std::size_t turn) const;
  // The slot at `offset`, which is here, went to `peer` with message `number`, of `bytes` bytes.
  void lend(std::size_t offset, int peer, int channel, std::uint64_t number, std::size_t bytes);
  // The slot at `offset` has come back, and its message has been credited.
  void come_back(std::size_t offset);
  // Whether the messages of all that are away have been credited, or their readers are gone.
  bool read(Endpoint& endpoint) const;
  // Recalls those that are away. REQUIRES read(). False: not possible yet.
  bool recall(Endpoint& endpoint);

 private:
  struct Loan {
    bool away = false;
    int peer = 0, channel = 0;
    std::uint64_t number = 0;
    std::size_t bytes = 0;
  };

  std::vector<std::uint8_t> here_;  // the one that came back last is the last
  std::array<Loan, kSlots> loans_;  // by slot
};

}  // namespace weft

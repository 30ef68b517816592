// Slot memory and who may still be reading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/fabric.h"

namespace weft {

// Slot memory that lanes lease while they need it, so that a thousand communicators do not
// each keep their own. Thread safe.
class ArenaPool {
 public:
  explicit ArenaPool(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}
  ~ArenaPool();
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;

  // A free block of kSlotBytes, or an empty one if there is none.
  SymmetricBlock try_lease();
  SymmetricBlock allocate();
  // `idle`: nobody reads from it any more. Some idle blocks are kept for the next lanes. The others
  // are never given out again, so that a late peer cannot read another lane's data.
  void give_back(const SymmetricBlock& block, bool idle);

 private:
  static constexpr std::size_t kMostFree = 16;

  std::shared_ptr<Fabric> fabric_;
  std::mutex mutex_;
  std::vector<SymmetricBlock> free_, retired_;
};

// The slot memory of one lane. For each byte range it knows the messages whose readers may still
// need it, whichever plan sent them. So any plan may follow any other.
// One thread at a time.
class Slots {
 public:
  Slots() = default;

  bool leased() const { return block_.data != nullptr; }
  void lease(const SymmetricBlock& block) { block_ = block; }
  // Gives the block up.
  SymmetricBlock release();

  std::byte* at(std::size_t offset) const { return block_.data + offset; }
  Location where(std::size_t offset) const { return block_.where + offset; }

  // A peer that may still read from [begin, end); kFree: nobody.
  static constexpr int kFree = -1;
  int reader_of(Endpoint& endpoint, std::size_t begin, std::size_t end);
  // Message `number` to `peer` on `channel` lies in [begin, end).
  void note(std::size_t begin, std::size_t end, int peer, int channel, std::uint64_t number);
  // True if no message is outstanding, but to peers that are gone and read no more.
  bool idle(Endpoint& endpoint);

 private:
  struct SlotUse {
    std::size_t begin, end;
    int peer, channel;
    std::uint64_t number;
  };
  static bool done(Endpoint& endpoint, const SlotUse& use) {
    return endpoint.settled(use.peer, use.channel, use.number, use.end - use.begin);
  }

  SymmetricBlock block_;
  std::vector<SlotUse> uses_;
};

}  // namespace weft

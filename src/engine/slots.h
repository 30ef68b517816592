// Slot memory and who may still be reading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/lent.h"
#include "fabric/fabric.h"

namespace weft {

// Slot memory that lanes lease while they need it, so that a thousand communicators do not
// each keep their own. Thread safe.
class ArenaPool {
 public:
  // Who has a block and can do without while it sends nothing.
  class Holder {
   public:
    virtual ~Holder() = default;
    // The block, if nobody reads from it any more; else an empty one. At once, on any thread.
    virtual SymmetricBlock give_idle() = 0;
  };

  explicit ArenaPool(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}
  ~ArenaPool();
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;

  // A block of kSlotBytes, of Slots::kBytes where the fabric lends. With a `holder` it may be taken
  // back, by give_idle(), until leave(). Throws what the fabric throws that has no more.
  SymmetricBlock lease(Holder* holder = nullptr);
  // The holder is asked no more.
  void leave(const Holder& holder);
  // `idle`: nobody reads from it any more. Some idle blocks are kept for the next lanes. The others
  // are never given out again, so that a late peer cannot read another lane's data.
  void give_back(const SymmetricBlock& block, bool idle);

 private:
  static constexpr std::size_t kMostFree = 16;
  // So many keep what they have. Beyond, who has not been served for longest is asked first.
  static constexpr std::size_t kMostHeld = 32;

  SymmetricBlock take_idle();

  std::shared_ptr<Fabric> fabric_;
  std::mutex mutex_;
  std::vector<SymmetricBlock> free_, retired_;
  std::vector<Holder*> holders_;  // in the order in which they leased
};

// The slot memory of one lane. For each byte range it knows the messages whose readers may still
// need it, whichever plan sent them. So any plan may follow any other.
// One thread at a time.
class Slots {
 public:
  // Those of the plans, then those to lend.
  static constexpr std::size_t kBytes = kSlotBytes + LentSlots::kBytes;

  Slots() = default;

  bool leased() const { return block_.data != nullptr; }
  void lease(const SymmetricBlock& block) { block_ = block; }
  // Gives the block up.
  SymmetricBlock release();

  std::byte* at(std::size_t offset) const { return block_.data + offset; }
  Location where(std::size_t offset) const { return block_.where + offset; }

  // Where a message of so many bytes lies.
  struct Spot {
    std::size_t slot;  // where it would lie if each slot had one place: what the plan's credits say
    std::size_t place;  // where it does lie
  };

  // A peer that may still read from the bytes of a slot, or of its place; kFree: nobody.
  static constexpr int kFree = -1;
  int reader_of(Endpoint& endpoint, Spot spot, std::size_t bytes);
  // Message `number` to `peer` on `channel` lies there.
  void note(Spot spot, std::size_t bytes, int peer, int channel, std::uint64_t number);
  // A slot to lend, see LentSlots::next(); without data if there is none.
  Slot to_lend(std::size_t turn) const;
  // The slot that to_lend() gave went to a peer with message `number`.
  void lend(const Slot& slot, int peer, int channel, std::uint64_t number, std::size_t bytes) {
    lent_.lend(lent_place(slot.data), peer, channel, number, bytes);
  }
  // A message that lay in a slot of ours was credited.
  void come_back(const std::byte* data) { lent_.come_back(lent_place(data)); }
  // Whether no message is outstanding, but to peers that are gone and read no more.
  bool read(Endpoint& endpoint);
  // As read(), and no peer writes into slots of ours: those that were lent have been recalled.
  bool idle(Endpoint& endpoint) { return read(endpoint) && lent_.recall(endpoint); }

 private:
  struct SlotUse {
    Spot spot;
    std::size_t bytes;
    int peer, channel;
    std::uint64_t number;
  };
  // Bytes before a slot, from the first that is lent on.
  std::size_t lent_place(const std::byte* data) const {
    return static_cast<std::size_t>(data - block_.data) - kSlotBytes;
  }
  static bool done(Endpoint& endpoint, const SlotUse& use) {
    return endpoint.settled(use.peer, use.channel, use.number, use.bytes);
  }

  SymmetricBlock block_;
  std::vector<SlotUse> uses_;
  LentSlots lent_;
};

}  // namespace weft

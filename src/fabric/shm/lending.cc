// Slots that go to their reader with a message, and come back with one of the reader's own.
#include <algorithm>

#include "fabric/delivery.h"
#include "fabric/shm/endpoint.h"
#include "fabric/shm/stores.h"

namespace weft::shm {

// Also a message whose slot is not to be lent, unless it is there already: who has lent all slots
// would get none back else.
[[gnu::hot]] bool ShmEndpoint::send_back(const Outgoing& out, Reader& reader) {
  Peer& to = at(reader.peer);
  if (to.loans.empty() || out.bytes > kLentBytes || out.slot->filled) return false;
  const Stores stores(lane().head, *this);
  // The last one is the freshest in this core's caches.
  const Loan loan = to.loans.back();
  // relaxed: as the store of Stores; recall() fences heavily between its count and its look.
  if (to.lane->head.recalls.load(std::memory_order_relaxed) != loan.recalls) {
    to.loans.clear();
    return false;
  }
  to.loans.pop_back();
  reader.transfer = static_cast<std::uint8_t>(Transfer::kReturned);
  reader.holds_slot = reader.lent = false;
  reader.output = loan.where;
  // It was read here, so it is mapped, and nothing waits.
  stage(reach(reader.peer, loan.where, out.bytes), out);
  send(out, reader);
  return true;
}

void ShmEndpoint::borrow(Peer& from, const Entry& entry) {
  const Loan loan{{entry.place}, entry.header.own >> 8};
  if (!from.loans.empty() && from.loans.back().recalls != loan.recalls) from.loans.clear();
  from.loans.push_back(loan);
}

bool ShmEndpoint::recall() {
  // First without a count: it takes loans from the peers, whether it ends well or not.
  if (mark_.forked() || lent_are_in_use()) return false;
  std::atomic<std::uint32_t>& recalls = lane().head.recalls;
  // relaxed: the fence orders it. 24 bits travel with a loan.
  recalls.store((recalls.load(std::memory_order_relaxed) + 1) & 0xffffff,
                std::memory_order_relaxed);
  fence_stores();
  return !lent_are_in_use();
}

// Whether a peer may be writing into a slot of ours, or has sent a message in one. A peer that was
// lost in the middle of a store may live.
bool ShmEndpoint::lent_are_in_use() const {
  return std::ranges::any_of(peers_, [&](const Peer& peer) {
    // acquire: pairs with the release of Stores. What was stored before has been sent.
    return peer.lane &&
           (peer.lane->head.storing.load(std::memory_order_acquire) != 0 || is_returning(peer));
  });
}

// Whether a message of this peer lies in a slot of ours.
bool ShmEndpoint::is_returning(const Peer& from) const {
  for (std::size_t channel = 0; channel < kMaxChannels; ++channel) {
    for (std::uint64_t number = from.taken[channel];; ++number) {
      const Entry& entry = from.ours->box[channel].entry(number);
      // acquire: pairs with the stamp's release in send(). A lap later no entry has this stamp.
      if (entry.stamp.load(std::memory_order_acquire) != number + 1) break;
      if (transfer_of(entry.header) == Transfer::kReturned) return true;
    }
  }
  return false;
}

}  // namespace weft::shm

// Messages and how their payloads get to the readers: stored into their outputs, loaded from where
// they lie, or staged in a slot.
#include <algorithm>
#include <cassert>
#include <thread>

#include "base/membarrier.h"
#include "base/prefetch.h"
#include "fabric/delivery.h"
#include "fabric/members.h"
#include "fabric/shm/endpoint.h"
#include "fabric/shm/stores.h"
#include "kernels/copy.h"
#include "weft/error.h"

namespace weft::shm {
namespace {

// How long a peer gets to finish the chunk that it is storing.
constexpr std::chrono::seconds kLastStores(1);

std::uint64_t place_of(const Outgoing& out, const Reader& reader) {
  switch (Transfer{reader.transfer}) {
    case Transfer::kStored:
      return reader.offset;
    case Transfer::kLoaded:
      return out.where.bits;
    case Transfer::kReturned:
      return reader.output.bits;
    default:
      return out.slot->where.bits;
  }
}

bool any(const Outgoing& out, Transfer transfer) {
  return std::ranges::find(out.readers, static_cast<std::uint8_t>(transfer), &Reader::transfer) !=
         out.readers.end();
}

}  // namespace

// Nobody loads a payload that is wanted in an output: stores into lines that another core has read
// are slow, and the next call would store its result into these.
[[gnu::hot]] void ShmEndpoint::prepare(Outgoing& out) {
  for (Reader& reader : out.readers) {
    Transfer transfer = Transfer::kStaged;
    if (!out.aimed && !out.passing && out.where) transfer = Transfer::kLoaded;
    if (out.aimed && reader.output) {
      transfer = Transfer::kStored;
      reader.place = reach(reader.peer, reader.output + reader.offset, out.bytes);
    }
    reader.lent = transfer == Transfer::kStaged && out.slot->lend;
    if (reader.lent) transfer = Transfer::kLent;
    reader.transfer = static_cast<std::uint8_t>(transfer);
    reader.holds_source = transfer == Transfer::kLoaded;
    reader.holds_slot = transfer == Transfer::kStaged || reader.lent;
    reader.copied = transfer == Transfer::kStored ? reader.place != nullptr : reader.holds_slot;
  }
}

[[gnu::hot]] void ShmEndpoint::send(const Outgoing& out, const Reader& reader) {
  assert(reader.peer != me_);
  const std::uint64_t number = reader.number;
  Peer& to = at(reader.peer);
  Mailbox& box = to.theirs->box[out.channel];
  Entry& entry = box.entry(number);
  entry.header.signature = out.signature;
  entry.header.bytes = static_cast<std::uint32_t>(out.bytes);
  entry.header.own = reader.transfer;
  if (reader.lent)
    // relaxed: only this thread counts.
    entry.header.own |= lane().head.recalls.load(std::memory_order_relaxed) << 8;
  if (out.bytes > 0 && out.bytes <= kInlineBytes) {
    kernels::copy(box.payload(number, out.bytes), out.source, out.bytes, kernels::To::kSlot);
  } else {
    entry.header.input = out.buffers.input;
    entry.header.output = out.buffers.output;
    if (out.bytes > 0) entry.place = place_of(out, reader);
  }
  // release: the entry, and all that this thread wrote before, goes before the stamp.
  entry.stamp.store(number + 1, std::memory_order_release);
  // The reader had the next entry a lap ago. It comes over while other things are done; where a
  // payload does not fit into it, the exchanges of two ranks were slower for that (measured).
  if (out.bytes <= Entry::kSmallBytes) prefetch_to_write(&box.entry(number + 1));
  ring(*to.bell);
}

[[gnu::hot]] void ShmEndpoint::post(const Outgoing& out) {
  mark_.check();
  if (out.bytes > kInlineBytes) return post_long(out);
  for (const Reader& reader : out.readers) send(out, reader);
}

[[gnu::hot]] void ShmEndpoint::post_long(const Outgoing& out) {
  if (any(out, Transfer::kStaged) || any(out, Transfer::kLent)) {
    if (out.readers.size() == 1 && send_back(out, out.readers[0])) return;
    stage(out);
  }
  if (any(out, Transfer::kStored)) {
    const Stores stores(lane().head, *this);
    for (const Reader& reader : out.readers) {
      if (reader.place) store(reader.place, out);
      send(out, reader);
    }
    return;
  }
  for (const Reader& reader : out.readers) send(out, reader);
}

[[gnu::hot]] const Header* ShmEndpoint::arrival(int peer, int channel, std::uint64_t number) {
  const Entry& entry = at(peer).ours->box[channel].entry(number);
  // acquire: pairs with the stamp's release in send().
  return entry.stamp.load(std::memory_order_acquire) == number + 1 ? &entry.header : nullptr;
}

[[gnu::hot]] Delivery ShmEndpoint::payload(int peer, int channel, std::uint64_t number,
                                           const Buffers& mine) {
  Mailbox& box = at(peer).ours->box[channel];
  const Entry& entry = box.entry(number);
  const std::uint32_t bytes = entry.header.bytes;
  if (bytes <= kInlineBytes) return {box.payload(number, bytes), bytes};
  const Transfer transfer = transfer_of(entry.header);
  if (transfer == Transfer::kStored) return {in_output(mine, entry.place, bytes), bytes};
  if (transfer == Transfer::kReturned)
    return {returned_.at({entry.place}, bytes), bytes, false, true};
  return {reach(peer, {entry.place}, bytes), bytes, transfer == Transfer::kLoaded};
}

[[gnu::hot]] std::byte* ShmEndpoint::reach(int peer, Location where, std::size_t bytes) {
  return naming(static_cast<std::size_t>(peer), [&] {
    return at(peer).reached.reach(where, bytes, patience_, [this] { return troubled(); });
  });
}

[[gnu::hot]] int ShmEndpoint::end(Outcome outcome) {
  if (outcome == Outcome::kDone) return kNobody;  // a store arrives by itself
  await_last_stores();
  return storing_peer();
}

// Afterwards either a peer sees what was stored here before, or this rank that the peer is storing.
void ShmEndpoint::fence_stores() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (register_heavy_fence())
    heavy_fence();
  else  // a store leaves a processor's buffer long before that
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void ShmEndpoint::await_last_stores() {
  fence_stores();
  const auto until = Clock::now() + kLastStores;
  for (const Peer& peer : peers_) {
    // A rank of this process stands still only with all of it, and writes where this one does.
    const bool here = peer.lane && find_local(peer.reached.remote().address().token);
    while (may_store(peer) && (here || Clock::now() < until)) std::this_thread::yield();
  }
}

int ShmEndpoint::storing_peer() const {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (may_store(peers_[i])) return static_cast<int>(i);
  }
  return kNobody;
}

bool ShmEndpoint::may_store(const Peer& peer) const {
  // acquire: pairs with the release of Stores.
  return peer.lane && peer.lane->head.storing.load(std::memory_order_acquire) != 0 &&
         !peer.reached.remote().is_lost();
}

}  // namespace weft::shm

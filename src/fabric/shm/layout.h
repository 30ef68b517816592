// The layout of shared memory, byte for byte. All of it starts as zeros, and zeros mean
// "nothing yet": a fresh segment needs no initialisation.
//
// A lane has one segment a member, and everything that a member polls lies in its own:
// polling touches no other process's memory, and what a peer wrote stays readable
// after that peer is gone.
//
//   Lane segment of one member of n
//     LaneHead                   trouble, progress, who aborted the lane first
//     Inbox[0] .. Inbox[n-1]     written by that member only (of the own one, just why)
//
//   Inbox
//     joined                     nonzero: the member has mapped our segment
//     why                        the text of its abort, whole before it claims to be the first
//     credits[kMaxChannels]      a line each: how many of our messages it has done with
//     box[kMaxChannels]          its messages to us: number n in entry place(n)
//
//   Entry, a line
//       0   8  stamp: message number + 1, stored last with release
//       8  24  header.signature
//      32   4  header.bytes
//      36   4  header.own: a Transfer, and above 8 bits the recalls() that a loan was made at
//      40  16  header.input, header.output  |  payload of 1 .. 24 bytes: one line is
//      56   8  place of a longer payload    |  all that moves for a small message
//   Body
//       0 448  payload of 25 .. 448 bytes
//
// Processors fetch lines in pairs, so a message's entry lies two behind that of the one before it:
// who reads that one leaves the next to its writer, which has fetched it by then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/doorbell.h"
#include "fabric/fabric.h"
#include "fabric/location.h"
#include "weft/plan.h"

namespace weft::shm {

// Counts changes of this file and of wire.h. Fabrics of different versions refuse each other.
inline constexpr std::uint32_t kLayoutVersion = 10;

// Messages of a pair and channel on their way: a root far ahead of its readers need not wait.
inline constexpr std::uint64_t kDepth = kFabricMailboxDepth;

// If lines or the prefetcher's pairs have 128 bytes, neighbours in an inbox still have the same
// writer and the same reader; two members share a pair only at the bound of their inboxes.
inline constexpr std::size_t kLine = 64;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// How a payload of more than kInlineBytes comes.
enum class Transfer : std::uint8_t {
  kStaged,   // it lies in the sender's slot
  kLoaded,   // it lies in the sender's own buffer
  kStored,   // the sender has stored it into the receiver's output
  kLent,     // as kStaged; the receiver may write there, until the sender recalls it
  kReturned  // it lies in a slot that the receiver had lent
};

inline Transfer transfer_of(const Header& header) {
  return Transfer{static_cast<std::uint8_t>(header.own)};
}

struct alignas(kLine) Entry {
  std::atomic<std::uint64_t> stamp;
  Header header;
  // Of a payload of more than kInlineBytes: a Location at the sender; of kReturned, one at the
  // receiver; of kStored, the bytes before it in the receiver's output.
  std::uint64_t place;

  static constexpr std::size_t kSmallBytes = 24;
  static constexpr std::size_t kSmallOffset = 40;
  std::byte* small() { return reinterpret_cast<std::byte*>(this) + kSmallOffset; }
};
static_assert(sizeof(Entry) == kLine);
static_assert(offsetof(Entry, header) == 8);
static_assert(offsetof(Header, bytes) == 24 && offsetof(Header, input) == 32);
static_assert(offsetof(Entry, header) + offsetof(Header, input) == Entry::kSmallOffset);
static_assert(Entry::kSmallOffset + Entry::kSmallBytes == kLine);

struct Mailbox {
  Entry entries[kDepth];
  std::byte bodies[kDepth][kInlineBytes];

  static std::size_t place(std::uint64_t number) {
    return number * 2 % kDepth + number / (kDepth / 2) % 2;
  }
  Entry& entry(std::uint64_t number) { return entries[place(number)]; }
  // Of a message of 1 .. kInlineBytes bytes.
  std::byte* payload(std::uint64_t number, std::size_t bytes) {
    return bytes <= Entry::kSmallBytes ? entry(number).small() : bodies[number % kDepth];
  }
};
static_assert(sizeof(Mailbox) == kDepth * (kLine + kInlineBytes));
static_assert(kInlineBytes % kLine == 0);

struct alignas(kLine) Credit {
  std::atomic<std::uint64_t> total;
};
static_assert(sizeof(Credit) == kLine);

struct Inbox {
  static constexpr std::size_t kWhyBytes = 15 * kLine;

  alignas(kLine) std::atomic<std::uint32_t> joined;
  alignas(kLine) char why[kWhyBytes];  // ends with a zero byte
  Credit credits[kMaxChannels];
  Mailbox box[kMaxChannels];
};
static_assert(sizeof(Inbox) == kLine + Inbox::kWhyBytes + kMaxChannels * (kLine + sizeof(Mailbox)));

struct LaneHead {
  // Nonzero: the lane was aborted or a member is lost. The one word that hot waits read.
  alignas(kLine) std::atomic<std::uint32_t> trouble;
  // Number of the collective that the owner entered last.
  alignas(kLine) std::atomic<std::uint64_t> entered;
  // Nonzero: the owner is storing into a peer's memory.
  std::atomic<std::uint32_t> storing;
  // 1 + the member that aborted the lane first; 0: none.
  alignas(kLine) std::atomic<std::uint32_t> aborted_by;
  // How often the owner has recalled its slots. Peers look before they write into one.
  std::atomic<std::uint32_t> recalls;
};
static_assert(sizeof(LaneHead) == 3 * kLine);

struct LaneSegment {
  LaneHead head;

  Inbox* inbox(int member) { return reinterpret_cast<Inbox*>(this + 1) + member; }
  static std::size_t bytes(std::size_t members) {
    return sizeof(LaneSegment) + members * sizeof(Inbox);
  }
};
static_assert(sizeof(LaneSegment) % kLine == 0);

// A fabric's doorbell is the first of its segments.
inline constexpr std::uint32_t kDoorbellSegment = 1;

}  // namespace weft::shm

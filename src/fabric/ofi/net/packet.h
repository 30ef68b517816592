// The bytes between two ports, in the byte order of x86 and Arm.
//
//   Packet
//       0   4  pair        the receiver's number for (lane, sender)
//       4   1  kind
//       5   1  channel     of kMessage and kCredit
//       6   2  credits     of kMessage: the low bits of what its sender has credited on the channel
//       8   8  number      of the message; or the total that is credited
//   kMessage goes on
//      16  24  signature
//      40   4  bytes       of payload
//      44   2  tail        bytes that follow the payload: 0, or 8
//      46   2  flags       1: the sender exposes its output | 2: the payload is delivered
//      48   -  the payload, or 8 bytes: its place at the sender, of one that is delivered the bytes
//              before it in the receiver's output
//       -   8  the seal, of a payload that came from the caller's memory
//
// A payload of more than the provider's eager bytes, which are above kInlineBytes, is written into
// the receiver's copy of the sender's segment first; one that is delivered into the receiver's
// output, which has the key 2^32 + the number of the first pair of the receiver's lane. The write
// carries 32 bits of its own: which message it belongs to. The two may arrive in either order.
//
// A seal is read after the payload, and broken before the caller has that memory back: where it is
// whole, the payload is. So a delivered payload goes by the same rail as its packet, before it.
//
//   WriteMark   bits 0-5 number mod 64 | 6-8 channel | 9-31 pair
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/fabric.h"

namespace weft::ofi {

// Counts changes of this file and of message.h. Fabrics of different versions refuse each other.
inline constexpr std::uint32_t kWireVersion = 8;

static_assert(std::endian::native == std::endian::little);

// Messages of a pair and channel on their way.
inline constexpr std::uint64_t kDepth = kFabricMailboxDepth;
static_assert(kDepth <= 64 && kMaxChannels <= 8);
inline constexpr std::uint32_t kMostPairs = 1u << 23;

enum class PacketKind : std::uint8_t { kJoined = 1, kMessage, kCredit };

struct Packet {
  std::uint32_t pair = 0;
  PacketKind kind = PacketKind::kJoined;
  std::uint8_t channel = 0;
  std::uint16_t credits = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(Packet) == 16);

// The most bytes of payload in a packet. With a write and a packet for it messages of any length
// took longer
// (docs/performance.md); receives for longer ones would set too much memory aside.
inline constexpr std::size_t kMostEagerBytes = 1 << 20;

// Credits of messages that carry their payload are held back until this many are due, or until a
// message goes the other way on their channel.
inline constexpr std::uint64_t kCreditsHeld = kDepth / 4;
// Or until they are for this many bytes. Without a credit a sender uses the place of a payload
// again
// only while its peer has fewer than this before it; all of them are memory that the peer keeps.
// More than what is held back, so that a peer which has read everything lets its sender go on.
inline constexpr std::uint64_t kBytesHeld = 1 << 20, kBytesAhead = 4 << 20;
static_assert(kBytesAhead >= kBytesHeld + kMostEagerBytes);
// The total whose low bits are `low`, where it is near `known` and not below.
inline std::uint64_t credits_near(std::uint64_t known, std::uint16_t low) {
  const auto ahead = static_cast<std::int16_t>(low - static_cast<std::uint16_t>(known));
  return ahead > 0 ? known + static_cast<std::uint64_t>(ahead) : known;
}

enum class Seal : std::uint64_t { kBroken = 0, kWhole = 0x7365616c };

// A message's packet, without a payload of more than kInlineBytes: that follows it.
struct MessagePacket {
  Packet packet;
  Signature signature;
  std::uint32_t bytes = 0;
  std::uint16_t tail = 0;
  std::uint16_t flags = 0;
  alignas(16) std::byte body[kInlineBytes];

  static constexpr std::uint16_t kExposes = 1, kDelivered = 2;

  static constexpr std::size_t kHead = 48;  // before the body
  // Bytes of the packet as it travels.
  std::size_t with_payload() const { return kHead + bytes + tail; }
  static constexpr std::size_t most(std::size_t eager) { return kHead + eager + sizeof(Seal); }
  static constexpr std::size_t kWithPlace = kHead + sizeof(Location);
  // Bytes of the packet of a delivered payload.
  static constexpr std::size_t kAfterPayload = kWithPlace + sizeof(Seal);
};
static_assert(offsetof(MessagePacket, body) == MessagePacket::kHead);
inline constexpr std::size_t kSmallPacketBytes = sizeof(MessagePacket);

// Above all keys that a rail gives itself.
inline constexpr std::uint64_t kOutputKeys = std::uint64_t{1} << 32;

struct WriteMark {
  std::uint32_t pair, channel, number;

  static WriteMark of(const Packet& message) {
    return {message.pair, message.channel, static_cast<std::uint32_t>(message.number % kDepth)};
  }
  std::uint32_t bits() const { return pair << 9 | channel << 6 | number % kDepth; }
  static WriteMark of(std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    return {low >> 9, low >> 6 & 7, low & 63};
  }
};

}  // namespace weft::ofi

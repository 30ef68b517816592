// How the libfabric fabric puts messages together again whose parts pass each other.
#if WEFT_OFI
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "fabric/ofi/lane/ahead.h"
#include "fabric/ofi/lane/inbox.h"

namespace weft::ofi {
namespace {

constexpr std::uint32_t kCarried = 4096;         // at most with its message
constexpr std::uint32_t kPlaced = kCarried + 4;  // is written to its place

// Packets as they come out of the network, in buffers that go back where they came from.
class Network final : public Returns {
 public:
  // Message `number`, its payload filled with it, cut to `length` if that is given.
  Arrived message(std::uint64_t number, std::uint32_t bytes, std::size_t length = 0,
                  std::optional<Seal> seal = {}) {
    auto op = std::make_unique<Op>();
    buffers_.push_back(std::make_unique<Buffer>());
    op->buffer = buffers_.back()->bytes;
    MessagePacket packet{};
    packet.packet = {.kind = PacketKind::kMessage, .number = number};
    packet.signature.count = number;
    packet.bytes = bytes;
    packet.tail = seal ? sizeof *seal : 0;
    const bool carries = bytes <= kCarried;
    op->length = length ? length : carries ? packet.with_payload() : MessagePacket::kWithPlace;
    std::memcpy(op->buffer, &packet, MessagePacket::kHead);
    if (carries) std::memset(op->buffer + MessagePacket::kHead, int(number % 251), bytes);
    if (seal) std::memcpy(op->buffer + MessagePacket::kHead + bytes, &*seal, sizeof *seal);
    ++out;
    return {op.release(), {this}};
  }
  // Its payload is written into the output, so many bytes from its beginning.
  Arrived delivered(std::uint64_t number, std::uint64_t before, Seal seal) {
    Arrived arrived = message(number, kPlaced, MessagePacket::kAfterPayload);
    auto& packet = *reinterpret_cast<MessagePacket*>(arrived->buffer);
    packet.flags = MessagePacket::kDelivered | MessagePacket::kExposes;
    packet.tail = sizeof seal;
    std::memcpy(packet.body, &before, sizeof before);
    std::memcpy(packet.body + sizeof before, &seal, sizeof seal);
    return arrived;
  }
  void give_back(Op* op) override {
    --out;
    delete op;
  }

  int out = 0;  // that somebody has

 private:
  struct Buffer {
    alignas(64) std::byte bytes[MessagePacket::most(kCarried)];
  };
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

// Packets and writes of many messages come in any order that the sender's credits allow: what is
// shown is always the contiguous prefix of what is whole.
TEST(OfiInbox, ShowsTheContiguousPrefixOfWhatCameInAnyOrder) {
  constexpr std::uint64_t kMessages = 20 * kDepth;
  const auto bytes_of = [](std::uint64_t n) {
    return std::array<std::uint32_t, 4>{1, kPlaced, 449, kInlineBytes}[n % 4];
  };
  const auto is_placed = [&](std::uint64_t n) { return bytes_of(n) == kPlaced; };
  std::mt19937 random(7);
  Network network;
  Inbox inbox;
  std::vector<std::pair<std::uint64_t, bool>> parts;  // (number, is the write) not yet here
  std::vector<int> missing(kMessages, 0);
  std::uint64_t sent = 0, shown = 0;
  while (shown < kMessages) {
    for (; sent < std::min(shown + kDepth, kMessages); ++sent) {
      parts.emplace_back(sent, false);
      if (is_placed(sent)) parts.emplace_back(sent, true);
      missing[sent] = is_placed(sent) ? 2 : 1;
    }
    std::swap(parts[random() % parts.size()], parts.back());
    const auto [number, is_write] = parts.back();
    parts.pop_back();
    if (is_write) {
      ASSERT_TRUE(inbox.take_write(static_cast<std::uint32_t>(number % kDepth)));
    } else {
      Arrived packet = network.message(number, bytes_of(number));
      ASSERT_TRUE(inbox.take_packet(packet));
    }
    --missing[number];
    std::uint64_t prefix = shown;
    while (prefix < sent && missing[prefix] == 0) ++prefix;
    for (std::uint64_t n = shown; n < sent; ++n) {
      const Shown here = inbox.at(n);
      ASSERT_EQ(here.header != nullptr, n < prefix) << n;
      if (!here.header) continue;
      ASSERT_EQ(here.header->signature.count, n);
      ASSERT_EQ(here.payload != nullptr, !is_placed(n));
      if (!here.payload) continue;
      ASSERT_EQ(here.payload[0], std::byte(n % 251));
      ASSERT_EQ(here.payload[bytes_of(n) - 1], std::byte(n % 251));
    }
    for (; shown < prefix; ++shown) ASSERT_EQ(inbox.finish(shown), !is_placed(shown));
  }
  EXPECT_EQ(network.out, 0);
}

TEST(OfiInbox, KeepsALongPayloadUntilItIsLetGo) {
  Network network;
  {
    Inbox inbox;
    for (std::uint64_t n = 0; n < 3; ++n) {
      Arrived packet = network.message(n, n == 1 ? 8 : kCarried);
      ASSERT_TRUE(inbox.take_packet(packet));
      EXPECT_EQ(packet != nullptr, n == 1) << "a short one is copied";
    }
    EXPECT_EQ(network.out, 2);
    EXPECT_TRUE(inbox.finish(0));
    EXPECT_EQ(network.out, 1);
  }
  EXPECT_EQ(network.out, 0) << "the inbox left";
}

TEST(OfiInbox, NeverShowsAPayloadWhoseSealIsBroken) {
  Network network;
  {
    Inbox inbox;
    for (std::uint64_t n = 0; n < 3; ++n) {
      Arrived packet = network.message(n, kCarried, 0, n == 1 ? Seal::kBroken : Seal::kWhole);
      ASSERT_TRUE(inbox.take_packet(packet)) << "it makes sense";
      EXPECT_EQ(packet != nullptr, n == 1);
    }
    ASSERT_NE(inbox.at(0).payload, nullptr);
    EXPECT_EQ(inbox.at(0).payload[kCarried - 1], std::byte{0});
    EXPECT_EQ(inbox.at(1).header, nullptr);
    EXPECT_EQ(inbox.at(2).header, nullptr) << "comes after it";
  }
  EXPECT_EQ(network.out, 0);
}

TEST(OfiInbox, ShowsWhatIsDeliveredOnceItIsWritten) {
  Network network;
  Inbox inbox;
  for (std::uint64_t n = 0; n < 3; ++n) {
    Arrived packet = network.delivered(n, 100 + n, n == 2 ? Seal::kBroken : Seal::kWhole);
    if (n == 0) {
      ASSERT_TRUE(inbox.take_packet(packet));
    }
    EXPECT_EQ(inbox.at(n).header, nullptr) << "one half";
    ASSERT_TRUE(inbox.take_write(static_cast<std::uint32_t>(n)));
    if (n > 0) {
      ASSERT_TRUE(inbox.take_packet(packet));
    }
    EXPECT_NE(packet, nullptr) << "nothing of it is kept";
  }
  for (std::uint64_t n = 0; n < 2; ++n) {
    const Shown shown = inbox.at(n);
    ASSERT_NE(shown.header, nullptr);
    EXPECT_EQ(shown.header->own, kDelivered);
    EXPECT_EQ(shown.place.bits, 100 + n);
    EXPECT_EQ(shown.header->output.bits, kExposed.bits);
    EXPECT_TRUE(inbox.finish(n)) << "the payload's place was free once it was sent";
  }
  EXPECT_EQ(inbox.at(2).header, nullptr) << "its seal is broken";
  Arrived cut = network.message(3, kPlaced);
  reinterpret_cast<MessagePacket*>(cut->buffer)->flags = MessagePacket::kDelivered;
  EXPECT_FALSE(inbox.take_packet(cut)) << "without a seal";
}

TEST(OfiInbox, RefusesWhatMakesNoSense) {
  Network network;
  Inbox inbox;
  const auto takes = [&](std::uint64_t number, std::uint32_t bytes, std::size_t length = 0) {
    Arrived packet = network.message(number, bytes, length);
    return inbox.take_packet(packet);
  };
  EXPECT_FALSE(takes(0, 8, MessagePacket::kHead + 7)) << "cut off";
  EXPECT_FALSE(takes(0, 8, MessagePacket::kHead - 1)) << "cut off in its head";
  EXPECT_FALSE(takes(0, 449, MessagePacket::kHead + 448)) << "cut off in its payload";
  EXPECT_TRUE(takes(0, 8));
  EXPECT_FALSE(takes(0, 8)) << "twice";
  EXPECT_FALSE(takes(kDepth + 1, 8)) << "beyond the room";
  EXPECT_TRUE(takes(5, 8));
  EXPECT_FALSE(takes(5, 8)) << "twice, ahead of others";
  EXPECT_TRUE(inbox.take_write(3));
  EXPECT_FALSE(inbox.take_write(3)) << "twice";
}

TEST(OfiAhead, CountsWhatIsNotCredited) {
  Ahead ahead;
  EXPECT_EQ(ahead.bytes(0), 0u);
  for (std::uint64_t n = 0; n < 3 * kDepth; ++n) {
    ahead.add(n);
    EXPECT_EQ(ahead.bytes(n), n);
    EXPECT_EQ(ahead.bytes(n + 1), 0u) << "all is credited";
    if (n > 0) {
      EXPECT_EQ(ahead.bytes(n - 1), 2 * n - 1);
    }
  }
}

TEST(OfiPacket, CreditsComeBackFromTheirLowBits) {
  for (std::uint64_t known : {0ull, 5ull, 65500ull, 65535ull, 65536ull, 1ull << 40}) {
    for (std::uint64_t ahead : {0, 1, 63}) {
      EXPECT_EQ(credits_near(known, static_cast<std::uint16_t>(known + ahead)), known + ahead);
    }
    // Overtaken by what was sent later.
    EXPECT_EQ(credits_near(known, static_cast<std::uint16_t>(known - 1)), known);
  }
}

}  // namespace
}  // namespace weft::ofi
#endif

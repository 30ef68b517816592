// What fabric.h promises of messages and memory, held against every fabric.
#include <algorithm>
#include <numeric>

#include "conformance/fabric_messages.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

TEST_P(FabricTest, MessagesCarryTheirPayload) {
  const std::vector<std::size_t> sizes = {0, 1, 8, 24, 25, 64, 447, kInlineBytes};
  run([&](LaneRank& r) {
    for (std::uint64_t n = 0; n < sizes.size(); ++n)
      r.for_peers([&](int to) { send(*r.lane, to, 0, n, sizes[n], r.me, to); });
    r.for_peers([&](int from) {
      for (std::uint64_t n = 0; n < sizes.size(); ++n) {
        (void)r.await_message(from, 0, n);
        expect_message(*r.lane, from, 0, n, sizes[n], from, r.me);
      }
      EXPECT_EQ(r.lane->arrival(from, 0, sizes.size()), nullptr) << "nobody sent it";
      EXPECT_EQ(r.lane->arrival(from, 1, 0), nullptr) << "another channel";
    });
  });
}

TEST_P(FabricTest, EmptyMessagesSayWhereBuffersLie) {
  run([&](LaneRank& r) {
    const SymmetricBlock block = r.fabric->allocate(1 << 16);
    block.data[700] = std::byte(r.me + 1);
    r.for_peers([&](int to) {
      Reader reader{.peer = to};
      r.lane->post({.readers = {&reader, 1},
                    .channel = 2,
                    .buffers = {block.where + 700, block.where + 800, {}}});
    });
    r.for_peers([&](int from) {
      const Header& seen = r.await_message(from, 2, 0);
      if (!r.loads(from)) {
        EXPECT_FALSE(seen.input || seen.output) << "it is of no use";
        EXPECT_EQ(r.lane->reach(from, block.where, 1), nullptr);
        return;
      }
      EXPECT_EQ(seen.output.bits - seen.input.bits, 100u);
      EXPECT_EQ(*r.lane->reach(from, seen.input, 1), std::byte(from + 1));
      r.lane->reach(from, seen.output, 8)[r.me] = std::byte(r.me);  // one-sided
    });
    r.meet("written");
    r.for_peers([&](int from) {
      EXPECT_EQ(block.data[800 + from], r.loads(from) ? std::byte(from) : std::byte(0));
    });
    r.meet("read");
    r.fabric->release(block);
  });
}

// Every pair and channel at once, many times around the mailbox, each reader crediting in
// batches of its own size.
TEST_P(FabricTest, MailboxesWrapAroundUnderCredits) {
  run([&](LaneRank& r) {
    const std::uint64_t messages = 3 * r.lane->depth() + 3;
    struct Stream {
      std::uint64_t sent = 0, received = 0;
    };
    std::vector<Stream> streams(static_cast<std::size_t>(r.size * kMaxChannels));
    const auto bytes_of = [](int from, std::uint64_t n) {
      return static_cast<std::size_t>((n * 37 + static_cast<std::uint64_t>(from)) % 449);
    };
    const auto advance = [&](int peer, int channel, Stream& stream) {
      if (stream.sent < messages && r.lane->room(peer, channel, stream.sent)) {
        const std::uint64_t n = stream.sent++;
        const std::size_t bytes = bytes_of(r.me, n);
        send(*r.lane, peer, channel, n, bytes, r.me, peer);
      }
      const std::uint64_t n = stream.received;
      if (r.lane->arrival(peer, channel, n)) {
        expect_message(*r.lane, peer, channel, n, bytes_of(peer, n), peer, r.me);
        ++stream.received;
        const auto batch = static_cast<std::uint64_t>(1 + channel % kMailboxDepth);
        if (stream.received % batch == 0 || stream.received == messages) {
          r.lane->credit(peer, channel, stream.received);
        }
      }
      // Nobody needs the last credits.
      return stream.sent == messages && stream.received == messages &&
             r.lane->credited(peer, channel, messages - r.lane->depth() / 4 + 1);
    };
    await("all messages and credits", [&] {
      bool finished = true;
      r.for_peers([&](int peer) {
        for (int channel = 0; channel < kMaxChannels; ++channel) {
          Stream& stream = streams[static_cast<std::size_t>(peer * kMaxChannels + channel)];
          finished &= advance(peer, channel, stream);
        }
      });
      return finished;
    });
  });
}

// The payload lies in symmetric memory, which is new for each message and released after it.
TEST_P(FabricTest, BulkPayloadsAreReachedInFreshMemory) {
  constexpr std::uint64_t kMessages = 40;
  run([&](LaneRank& r) {
    for (std::uint64_t n = 0; n < kMessages; ++n) {
      // Some longer than what any fabric sends with the message.
      const std::size_t bytes = (n % 8 == 7 ? std::size_t{1536} << 10 : 500) + n * 977;
      const SymmetricBlock block = r.fabric->allocate(bytes + 64);
      ASSERT_EQ(std::accumulate(block.data, block.data + block.bytes, 0u,
                                [](unsigned sum, std::byte b) { return sum + unsigned(b); }),
                0u);
      const auto data = payload(bytes, r.me, 0, n);
      std::memcpy(block.data + 64, data.data(), bytes);
      r.for_peers([&](int to) {
        post(*r.lane, to, 0, n, signature(r.me, n), block.data + 64, bytes, block.where + 64);
      });
      r.for_peers([&](int from) {
        const Delivery seen = r.await_payload(from, 0, n);
        ASSERT_EQ(seen.bytes, bytes);
        EXPECT_FALSE(seen.in_place);
        const auto expected = payload(bytes, from, 0, n);
        ASSERT_EQ(0, std::memcmp(seen.data, expected.data(), bytes));
        r.lane->credit(from, 0, n + 1);
      });
      r.for_peers([&](int to) { r.await_settled(to, 0, n, bytes); });
      r.fabric->release(block);
    }
  });
}

// A put of the caller's own memory to all peers at once, with one slot. Source and slot change as
// soon as they may. Each third has a source that is no longer there after the post.
TEST_P(FabricTest, PutsFromAnywhereToAll) {
  constexpr std::uint64_t kMessages = 40;
  const auto length = [](std::uint64_t n) {
    return n % 8 == 7 ? std::size_t{1536} << 10 : 449 + n * 383;
  };
  run([&](LaneRank& r) {
    const SymmetricBlock slots = r.fabric->allocate(std::size_t{1536} << 10);
    for (std::uint64_t n = 0; n < kMessages; ++n) {
      const std::size_t bytes = length(n);
      auto data = payload(bytes, r.me, 0, n);
      std::vector<Reader> readers;
      r.for_peers([&](int to) { readers.push_back({.peer = to, .number = n}); });
      Slot slot{slots.data, slots.where};
      Outgoing out{.readers = readers, .signature = signature(r.me, n), .source = data.data()};
      out.bytes = bytes;
      out.slot = &slot;
      out.passing = n % 3 == 1;
      r.lane->prepare(out);
      EXPECT_FALSE(slot.filled) << "it only decides";
      r.lane->post(out);
      const auto held = [&](bool Reader::* what) { return std::ranges::any_of(readers, what); };
      EXPECT_TRUE(slot.filled || held(&Reader::holds_source));
      EXPECT_FALSE(out.passing && held(&Reader::holds_source)) << n;
      if (!held(&Reader::holds_source)) std::ranges::fill(data, std::byte{0xAB});
      r.for_peers([&](int from) {
        const Delivery seen = r.await_payload(from, 0, n);
        ASSERT_EQ(seen.bytes, bytes);
        const auto expected = payload(bytes, from, 0, n);
        ASSERT_EQ(0, std::memcmp(seen.data, expected.data(), bytes));
        r.lane->credit(from, 0, n + 1);
      });
      r.for_peers([&](int to) { r.await_settled(to, 0, n, bytes); });
      std::ranges::fill(data, std::byte{0xAB});
      std::memset(slots.data, 0xCD, bytes);
    }
    r.meet("read");
    r.fabric->release(slots);
  });
}

// A put of symmetric memory may be read where it lies, until it is settled. The reader is told.
TEST_P(FabricTest, SaysWhatItReadsInTheSendersBuffers) {
  constexpr std::size_t kBytes = 100000;
  run([&](LaneRank& r) {
    const SymmetricBlock block = r.fabric->allocate(kBytes), slots = r.fabric->allocate(kBytes);
    r.exchange_location(block.where);
    const auto data = payload(kBytes, r.me, 0, 0);
    std::memcpy(block.data, data.data(), kBytes);
    std::vector<Reader> readers;
    r.for_peers([&](int to) { readers.push_back({.peer = to}); });
    Slot slot{slots.data, slots.where};
    Outgoing out{.readers = readers, .source = block.data, .bytes = kBytes, .where = block.where};
    out.slot = &slot;
    out.passing = true;
    r.lane->prepare(out);
    EXPECT_TRUE(std::ranges::none_of(readers, &Reader::holds_source));
    out.passing = false;
    r.lane->prepare(out);
    r.lane->post(out);
    r.meet("posted");
    r.for_peers([&](int from) {
      const Delivery seen = r.await_payload(from, 0, 0);
      EXPECT_EQ(seen.in_place, r.loads(from));
      if (seen.in_place) {
        EXPECT_EQ(seen.data, r.lane->reach(from, r.location(from), kBytes));
      }
      const auto expected = payload(kBytes, from, 0, 0);
      ASSERT_EQ(0, std::memcmp(seen.data, expected.data(), kBytes));
      r.lane->credit(from, 0, 1);
    });
    r.for_peers([&](int to) { r.await_settled(to, 0, 0, kBytes); });
    r.meet("read");
    r.fabric->release(block);
    r.fabric->release(slots);
  });
}

// Puts that their readers want in their outputs: those of symmetric memory, and those of any memory
// of which a call has said that peers may write into it.
TEST_P(FabricTest, PutsIntoOutputs) {
  constexpr std::size_t kBlock = 600 << 10;
  constexpr std::uint64_t kRounds = 8;
  run([&](LaneRank& r) {
    const auto at = [](int rank) { return static_cast<std::size_t>(rank) * kBlock; };
    const SymmetricBlock slots = r.fabric->allocate(kBlock);
    const SymmetricBlock shared = r.fabric->allocate(at(r.size));
    std::vector<std::byte> own(at(r.size));
    for (std::uint64_t n = 0; n < kRounds; ++n) {
      const bool symmetric = n % 2 == 0;
      const std::span<std::byte> output =
          symmetric ? std::span(shared.data, shared.bytes) : std::span(own);
      std::ranges::fill(output, std::byte{0xAB});
      const Buffers mine{{}, symmetric ? shared.where : Location{}, output};
      r.lane->begin(n, output);
      r.for_peers([&](int to) {
        Reader reader{.peer = to, .number = n};
        r.lane->post({.readers = {&reader, 1}, .buffers = mine});
      });
      r.for_peers([&](int peer) {
        const Location theirs = r.await_message(peer, 0, n).output;
        r.lane->credit(peer, 0, n + 1);
        EXPECT_TRUE(theirs || !symmetric || !r.loads(peer));
        auto data = payload(kBlock, r.me, peer, n);
        Reader reader{.peer = peer, .number = n, .output = theirs, .offset = at(r.me)};
        Slot slot{slots.data, slots.where};
        Outgoing out{.readers = {&reader, 1}, .channel = 1, .source = data.data()};
        out.bytes = kBlock;
        out.aimed = true;
        out.slot = &slot;
        r.lane->prepare(out);
        r.lane->post(out);
        if (reader.holds_source) r.await_settled(peer, 1, n, kBlock);
        std::ranges::fill(data, std::byte{0xCD});
        const Delivery seen = r.await_payload(peer, 1, n, mine);
        EXPECT_FALSE(seen.in_place);
        const auto expected = payload(kBlock, peer, r.me, n);
        ASSERT_EQ(0, std::memcmp(seen.data, expected.data(), kBlock));
        // Where the peer was told of the output, it is there.
        if (symmetric && r.loads(peer)) {
          EXPECT_EQ(seen.data, output.data() + at(peer));
        }
        r.lane->credit(peer, 1, n + 1);
        r.await_settled(peer, 1, n, kBlock);
      });
      await("the end", [&] { return r.lane->end(Outcome::kDone) == Endpoint::kNobody; });
      ASSERT_EQ(output[at(r.me)], std::byte{0xAB});
      r.meet("round " + std::to_string(n));
    }
    r.fabric->release(shared);
    r.fabric->release(slots);
  });
}

// A peer has stored where this rank's output ends before, as far as this call knows.
TEST_P(FabricTest, RefusesAPlaceOutsideOfTheOutput) {
  constexpr std::size_t kBytes = 300 << 10;
  run([&](LaneRank& r) {
    // Each rank has a part of its own in every output.
    const auto part = [&](int rank) { return static_cast<std::size_t>(1 + rank) * kBytes; };
    const SymmetricBlock block = r.fabric->allocate(part(r.size));
    r.for_peers([&](int to) {
      Reader reader{.peer = to};
      r.lane->post({.readers = {&reader, 1}, .buffers = {{}, block.where, {}}});
    });
    const std::vector<std::byte> data(kBytes);
    r.for_peers([&](int peer) {
      Reader reader{
          .peer = peer, .output = r.await_message(peer, 0, 0).output, .offset = part(r.me)};
      if (!reader.output) return;
      Outgoing out{.readers = {&reader, 1}, .channel = 1, .source = data.data()};
      out.bytes = kBytes;
      out.aimed = true;
      r.lane->prepare(out);
      r.lane->post(out);
      (void)r.await_message(peer, 1, 0);
      const auto read = [&](std::size_t bytes) {
        return r.lane->payload(peer, 1, 0, {{}, block.where, {block.data, bytes}}).data;
      };
      EXPECT_EQ(read(part(peer + 1)), block.data + part(peer));
      EXPECT_THROW((void)read(part(peer + 1) - 1), InternalError);
      EXPECT_THROW((void)read(part(peer) - 1), InternalError);
    });
    r.meet("read");
    r.fabric->release(block);
  });
}

// What a peer has not credited is memory that it keeps: a sender that nobody reads stops.
TEST_P(FabricTest, UnreadPayloadsHoldTheirSenderBack) {
  constexpr std::size_t kBytes = 200 << 10;
  constexpr std::uint64_t kMost = 30;
  run([&](LaneRank& r) {
    const SymmetricBlock block = r.fabric->allocate(kBytes);
    const int to = (r.me + 1) % r.size, from = (r.me + r.size - 1) % r.size;
    std::uint64_t posted = 0;
    const auto settled = [&] { return r.lane->settled(to, 0, posted - 1, kBytes); };
    do {
      post(*r.lane, to, 0, posted, signature(r.me, posted), block.data, kBytes, block.where);
      ++posted;
      await("the network", [&] { return r.lane->end(Outcome::kDone) != to; });
    } while (posted < kMost && settled());
    EXPECT_LT(posted, kMost);
    const auto theirs = r.exchange_and_drive("posted", std::to_string(posted));
    const std::uint64_t sent = std::stoull(theirs[static_cast<std::size_t>(from)]);
    for (std::uint64_t n = 0; n < sent; ++n) {
      (void)r.await_message(from, 0, n);
      r.lane->credit(from, 0, n + 1);
    }
    await("memory", settled);
    r.meet("read");
    r.fabric->release(block);
  });
}

TEST_P(FabricTest, ReachRefusesMemoryOutsideOfASegment) {
  run([&](LaneRank& r) {
    constexpr std::size_t kBytes = 10000;
    const SymmetricBlock block = r.fabric->allocate(kBytes);
    r.exchange_location(block.where);
    r.for_peers([&](int from) {
      if (!r.loads(from)) return;
      const Location where = r.location(from);
      EXPECT_NO_THROW(r.lane->reach(from, where, kBytes));
      EXPECT_THROW(r.lane->reach(from, where + 1, 2 << 20), Error);
      EXPECT_THROW(r.lane->reach(from, where + (2 << 20), 1), Error);
      EXPECT_THROW(r.lane->reach(from, {where.bits + (std::uint64_t{9999} << 40)}, 1), Error);
    });
    r.meet("reached");
    r.fabric->release(block);
  });
}

TEST_P(FabricTest, LanesAreApartAndMayHaveOtherMembers) {
  run([&](LaneRank& r) {
    LaneRank second = join_lane(r.fabric, r.store, r.me, r.size, "second");
    // A lane of all but rank 0, in reverse order.
    std::unique_ptr<Endpoint> sub;
    const auto addresses = r.exchange("sub address", r.fabric->address());
    const std::vector<std::string> reversed(addresses.rbegin(), addresses.rend() - 1);
    const int place = r.size - 1 - r.me;
    if (r.me > 0) sub = r.fabric->open(reversed, place, patience());
    auto tickets = r.exchange("sub ticket", sub ? sub->ticket() : "");
    if (sub) sub->connect({tickets.rbegin(), tickets.rend() - 1}, patience());

    r.for_peers([&](int to) {
      send(*r.lane, to, 0, 0, 8, 1, 0);
      send(*second.lane, to, 0, 0, 8, 2, 0);
      if (sub && to > 0) send(*sub, r.size - 1 - to, 0, 0, 8, 3, 0);
    });
    r.for_peers([&](int from) {
      (void)r.await_message(from, 0, 0);
      expect_message(*r.lane, from, 0, 0, 8, 1, 0);
      (void)second.await_message(from, 0, 0);
      expect_message(*second.lane, from, 0, 0, 8, 2, 0);
      if (!sub || from == 0) return;
      const int other = r.size - 1 - from;
      await("message of the sub-lane", [&] { return sub->arrival(other, 0, 0) != nullptr; });
      expect_message(*sub, other, 0, 0, 8, 3, 0);
    });
    r.meet("read");
  });
}

std::string row_name(const ::testing::TestParamInfo<std::tuple<FabricKind, int>>& info) {
  return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param));
}
// To load libfabric takes longer than a test: three ranks are enough of it, and one of two fabrics
// in one, whose pairs each have one.
std::vector<std::tuple<FabricKind, int>> rows() {
  std::vector<std::tuple<FabricKind, int>> rows;
  for (const FabricKind& kind : fabric_kinds()) {
    rows.emplace_back(kind, 3);
    if (kind.name == "shm") rows.insert(rows.end(), {{kind, 2}, {kind, 5}});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Fabrics, FabricTest, ::testing::ValuesIn(rows()), row_name);

}  // namespace
}  // namespace weft::testing

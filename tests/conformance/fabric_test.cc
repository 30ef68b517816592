// What fabric.h promises of messages and memory, held against every fabric, with threads as ranks.
#include <numeric>

#include "conformance/fabric_messages.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

TEST_P(FabricTest, MessagesCarryTheirPayload) {
  const std::vector<std::size_t> sizes = {0, 1, 8, 24, 25, 64, 447, kInlineBytes};
  run([&](LaneRank& r) {
    for (std::uint64_t n = 0; n < sizes.size(); ++n) {
      r.for_peers([&](int to) {
        r.lane->post(to, 0, n, header(sizes[n], r.me, n), payload(sizes[n], r.me, to, n).data());
      });
    }
    r.for_peers([&](int from) {
      for (std::uint64_t n = 0; n < sizes.size(); ++n) {
        expect_message(r.await_message(from, 0, n), sizes[n], from, r.me, n);
      }
      EXPECT_EQ(r.lane->arrival(from, 0, sizes.size()).header, nullptr) << "nobody sent it";
      EXPECT_EQ(r.lane->arrival(from, 1, 0).header, nullptr) << "another channel";
    });
  });
}

TEST_P(FabricTest, EmptyMessagesSayWhereBuffersLie) {
  run([&](LaneRank& r) {
    const SymmetricBlock block = r.fabric->allocate(1 << 16);
    block.data[700] = std::byte(r.me + 1);
    Header header;
    header.input = block.where + 700;
    header.output = block.where + 800;
    r.for_peers([&](int to) { r.lane->post(to, 2, 0, header, nullptr); });
    r.for_peers([&](int from) {
      const Header seen = *r.await_message(from, 2, 0).header;
      if (!r.lane->loads(from)) {
        EXPECT_FALSE(seen.input || seen.output) << "it is of no use";
        return;
      }
      EXPECT_EQ(seen.output.bits - seen.input.bits, 100u);
      EXPECT_EQ(*r.lane->reach(from, seen.input, 1), std::byte(from + 1));
      r.lane->reach(from, seen.output, 8)[r.me] = std::byte(r.me);  // one-sided
    });
    r.meet("written");
    r.for_peers([&](int from) {
      const bool stored = r.lane->loads(from);
      EXPECT_EQ(block.data[800 + from], stored ? std::byte(from) : std::byte(0));
    });
    r.meet("read");
    r.fabric->release(block);
  });
}

// Every pair and channel at once, many times around the mailbox, each reader returning in
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
        r.lane->post(peer, channel, n, header(bytes, r.me, n),
                     payload(bytes, r.me, peer, n).data());
      }
      const std::uint64_t n = stream.received;
      if (const Arrival arrival = r.lane->arrival(peer, channel, n); arrival.header) {
        expect_message(arrival, bytes_of(peer, n), peer, r.me, n);
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
      Header bulk = header(bytes, r.me, n);
      bulk.input = block.where + 64;
      const auto data = payload(bytes, r.me, 0, n);
      std::memcpy(block.data + 64, data.data(), bytes);
      r.for_peers([&](int to) { r.lane->post(to, 0, n, bulk, block.data + 64); });
      r.for_peers([&](int from) {
        const Arrival seen = r.await_message(from, 0, n);
        ASSERT_EQ(seen.header->bytes, bytes);
        const auto expected = payload(bytes, from, 0, n);
        ASSERT_EQ(0, std::memcmp(r.payload(from, seen), expected.data(), bytes));
        r.lane->credit(from, 0, n + 1);
      });
      r.for_peers([&](int to) {
        await("memory",
              [&] { return r.lane->unsent() != to && r.lane->reusable(to, 0, n, bytes); });
      });
      r.fabric->release(block);
    }
  });
}

// Payloads of the caller's own memory, which changes as soon as it may.
TEST_P(FabricTest, CarriesFromAnywhereToAllThatDoNotLoad) {
  constexpr std::uint64_t kMessages = 40;
  const auto length = [](std::uint64_t n) { return std::size_t{449} + n * 383; };
  run([&](LaneRank& r) {
    for (std::uint64_t n = 0; n < kMessages; ++n) {
      r.for_peers([&](int to) {
        ASSERT_EQ(r.lane->carries(to, length(n)), !r.lane->loads(to));
        if (r.lane->loads(to)) return;
        auto data = payload(length(n), r.me, to, n);
        r.lane->post(to, 0, n, header(length(n), r.me, n), data.data());
        await("memory",
              [&] { return r.lane->unsent() != to && r.lane->reusable(to, 0, n, length(n)); });
        std::ranges::fill(data, std::byte{0xAB});
      });
      r.for_peers([&](int from) {
        if (r.lane->loads(from)) return;
        const Arrival seen = r.await_message(from, 0, n);
        const auto expected = payload(length(n), from, r.me, n);
        ASSERT_EQ(0, std::memcmp(r.payload(from, seen), expected.data(), length(n)));
        r.lane->credit(from, 0, n + 1);
      });
    }
    r.meet("read");
  });
}

// Into the outputs of all that do not load, once they have said that they expose them.
TEST_P(FabricTest, DeliversIntoExposedOutputs) {
  constexpr std::size_t kBlock = 600 << 10;
  constexpr std::uint64_t kRounds = 20;
  run([&](LaneRank& r) {
    const auto at = [](int rank) { return static_cast<std::size_t>(rank) * kBlock; };
    std::vector<std::byte> output(at(r.size));
    for (std::uint64_t n = 0; n < kRounds; ++n) {
      std::ranges::fill(output, std::byte{0xAB});
      r.lane->expose(output.data(), output.size());
      r.for_peers([&](int to) { r.lane->post(to, 0, n, header(0, r.me, n), nullptr); });
      r.for_peers([&](int peer) {
        const Location exposed = r.await_message(peer, 0, n).header->output;
        r.lane->credit(peer, 0, n + 1);
        if (!exposed) return;
        ASSERT_TRUE(r.lane->lands(peer, kBlock));
        Header bulk = header(kBlock, r.me, n);
        bulk.delivered = 1;
        bulk.input = {at(r.me)};
        auto data = payload(kBlock, r.me, peer, n);
        r.lane->post(peer, 1, n, bulk, data.data());
        await("memory",
              [&] { return r.lane->unsent() != peer && r.lane->reusable(peer, 1, n, kBlock); });
        std::ranges::fill(data, std::byte{0xCD});
        const Arrival seen = r.await_message(peer, 1, n);
        ASSERT_TRUE(seen.header->delivered);
        ASSERT_EQ(seen.header->input.bits, at(peer));
        const auto expected = payload(kBlock, peer, r.me, n);
        ASSERT_EQ(0, std::memcmp(output.data() + at(peer), expected.data(), kBlock));
        r.lane->credit(peer, 1, n + 1);
      });
      r.lane->conceal();
      ASSERT_EQ(output[at(r.me)], std::byte{0xAB});
    }
    r.meet("delivered");
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
    const auto reusable = [&] { return r.lane->reusable(to, 0, posted - 1, kBytes); };
    do {
      Header bulk = header(kBytes, r.me, posted);
      bulk.input = block.where;
      r.lane->post(to, 0, posted++, bulk, block.data);
      await("the network", [&] { return r.lane->unsent() != to; });
    } while (posted < kMost && reusable());
    EXPECT_LT(posted, kMost);
    const auto theirs = r.exchange("posted", std::to_string(posted));
    const std::uint64_t sent = std::stoull(theirs[static_cast<std::size_t>(from)]);
    for (std::uint64_t n = 0; n < sent; ++n) {
      (void)r.await_message(from, 0, n);
      r.lane->credit(from, 0, n + 1);
    }
    await("memory", reusable);
    r.meet("read");
    r.fabric->release(block);
  });
}

TEST_P(FabricTest, ReachRefusesMemoryOutsideOfASegment) {
  run([&](LaneRank& r) {
    constexpr std::size_t kBytes = 1536 << 10;  // more than any fabric sends with the message
    const SymmetricBlock block = r.fabric->allocate(kBytes);
    Header header;
    header.bytes = kBytes;
    header.input = block.where;
    r.for_peers([&](int to) { r.lane->post(to, 0, 0, header, block.data); });
    r.for_peers([&](int from) {
      const Location where = r.await_message(from, 0, 0).header->input;
      EXPECT_NO_THROW(r.lane->reach(from, where, kBytes));
      EXPECT_THROW(r.lane->reach(from, where + 1, 2 * kBytes), Error);
      EXPECT_THROW(r.lane->reach(from, where + 2 * kBytes, 1), Error);
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
      r.lane->post(to, 0, 0, header(8, 1, 0), payload(8, 1, 0, 0).data());
      second.lane->post(to, 0, 0, header(8, 2, 0), payload(8, 2, 0, 0).data());
      if (sub && to > 0) {
        sub->post(r.size - 1 - to, 0, 0, header(8, 3, 0), payload(8, 3, 0, 0).data());
      }
    });
    r.for_peers([&](int from) {
      expect_message(r.await_message(from, 0, 0), 8, 1, 0, 0);
      expect_message(second.await_message(from, 0, 0), 8, 2, 0, 0);
      if (!sub || from == 0) return;
      const int other = r.size - 1 - from;
      await("message of the sub-lane", [&] { return sub->arrival(other, 0, 0).header; });
      expect_message(sub->arrival(other, 0, 0), 8, 3, 0, 0);
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

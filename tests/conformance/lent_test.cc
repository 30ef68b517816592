// Slots that are lent with a message, and come back with one of the borrower's. Fabrics whose ranks
// share no memory lend none.
#include <algorithm>
#include <vector>

#include "conformance/fabric_messages.h"

namespace weft::testing {
namespace {

constexpr std::size_t kBytes = 5000;

// One rank's slots to lend, one for each peer and message, and what became of its messages.
class Lender {
 public:
  Lender(LaneRank& rank, std::uint64_t messages)
      : rank_(rank),
        messages_(messages),
        block_(rank.fabric->allocate(static_cast<std::size_t>(rank.size) * messages * kLentBytes,
                                     MemoryUse::kInternal)) {}

  std::byte* slot(int peer, std::uint64_t number) const { return block_.data + at(peer, number); }

  // Message `number` to a peer, in a slot that is to be lent. What the fabric said of its reader.
  Reader send(int peer, std::uint64_t number, bool lend = true) const {
    const auto data = payload(kBytes, rank_.me, peer, number);
    Reader reader{.peer = peer, .number = number};
    Slot slot{block_.data + at(peer, number), block_.where + at(peer, number), false, lend};
    Outgoing out{.readers = {&reader, 1},
                 .signature = signature(rank_.me, number),
                 .source = data.data(),
                 .bytes = kBytes,
                 .slot = &slot};
    rank_.lane->prepare(out);
    if (!reader.lent) slot.lend = false;
    rank_.lane->post(out);
    // The source may be the fabric's until then.
    if (!reader.lent && reader.holds_source) rank_.await_settled(peer, 0, number, kBytes);
    return reader;
  }
  Delivery receive(int peer, std::uint64_t number) const {
    const Delivery seen = rank_.await_payload(peer, 0, number);
    expect_message(*rank_.lane, peer, 0, number, kBytes, peer, rank_.me);
    return seen;
  }
  // Each rank sends message `number` to each, reads those of others and credits them. To whom slots
  // were lent, by rank.
  std::vector<bool> exchange(std::uint64_t number) const {
    std::vector<bool> lent(static_cast<std::size_t>(rank_.size));
    rank_.for_peers([&](int to) {
      const Reader reader = send(to, number);
      EXPECT_TRUE(reader.holds_slot) << number;
      lent[static_cast<std::size_t>(to)] = reader.lent;
    });
    rank_.for_peers([&](int from) {
      EXPECT_FALSE(receive(from, number).returned);
      rank_.lane->credit(from, 0, number + 1);
    });
    return lent;
  }
  void await_settled(std::uint64_t number) const {
    rank_.for_peers([&](int to) { rank_.await_settled(to, 0, number, kBytes); });
  }

 private:
  std::size_t at(int peer, std::uint64_t number) const {
    return (static_cast<std::size_t>(peer) * messages_ + number) * kLentBytes;
  }

  LaneRank& rank_;
  const std::uint64_t messages_;
  const SymmetricBlock block_;
};

TEST_P(FabricTest, LentSlotsComeBackWithAMessage) {
  run([&](LaneRank& r) {
    const Lender slots(r, 2);
    const std::vector<bool> lent = slots.exchange(0);
    r.for_peers([&](int to) {
      EXPECT_TRUE(lent[static_cast<std::size_t>(to)] || kind().name != "shm");
      const Reader reader = slots.send(to, 1);
      EXPECT_FALSE(lent[static_cast<std::size_t>(to)] && (reader.holds_slot || reader.lent))
          << "it went into the peer's";
    });
    r.for_peers([&](int from) {
      const Delivery seen = slots.receive(from, 1);
      EXPECT_EQ(seen.returned, lent[static_cast<std::size_t>(from)]);
      EXPECT_EQ(seen.data == slots.slot(from, 0), lent[static_cast<std::size_t>(from)]);
    });
    r.meet("received");
    const bool any = std::ranges::find(lent, true) != lent.end();
    EXPECT_EQ(r.lane->recall(), !any) << "none has been credited";
    r.for_peers([&](int from) { r.lane->credit(from, 0, 2); });
    EXPECT_TRUE(r.lane->recall());
    slots.await_settled(1);
  });
}

// Who has lent all that it has can only get them back so.
TEST_P(FabricTest, OtherMessagesBringLentSlotsBack) {
  run([&](LaneRank& r) {
    const Lender slots(r, 2);
    const std::vector<bool> lent = slots.exchange(0);
    r.for_peers([&](int to) { (void)slots.send(to, 1, false); });
    r.for_peers([&](int from) {
      EXPECT_EQ(slots.receive(from, 1).returned, lent[static_cast<std::size_t>(from)]);
      r.lane->credit(from, 0, 2);
    });
    slots.await_settled(1);
  });
}

TEST_P(FabricTest, NobodyWritesIntoSlotsThatWereRecalled) {
  run([&](LaneRank& r) {
    const Lender slots(r, 2);
    slots.exchange(0);
    slots.await_settled(0);
    EXPECT_TRUE(r.lane->recall());
    r.meet("recalled");
    slots.exchange(1);
    slots.await_settled(1);
  });
}

}  // namespace
}  // namespace weft::testing

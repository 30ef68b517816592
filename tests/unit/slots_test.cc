// Who may still be in a slot, or in its place.
#include "engine/slots.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fabric/location.h"

namespace weft {
namespace {

// Messages are settled when the test says so.
class Settled final : public Endpoint {
 public:
  Settled() : Endpoint(1) {}

  void credit_of(int peer, int channel, std::uint64_t number) {
    settled_.insert({peer, channel, number});
  }

  std::string ticket() const override { return {}; }
  void connect(const std::vector<std::string>&, Clock::time_point) override {}
  void post(const Outgoing&) override {}
  bool settled(int peer, int channel, std::uint64_t number, std::size_t) override {
    return settled_.contains({peer, channel, number});
  }
  bool credited(int, int, std::uint64_t) override { return false; }
  const Header* arrival(int, int, std::uint64_t) override { return nullptr; }
  Delivery payload(int, int, std::uint64_t, const Buffers&) override { return {}; }
  void credit(int, int, std::uint64_t) override {}
  int end(Outcome) override { return kNobody; }
  bool troubled() const override { return !lost_.empty(); }
  std::string why_aborted() const override { return {}; }
  std::string lost(int) override { return lost_; }
  void abort(const std::string&) override {}
  bool recall() override {
    ++recalls_;
    return recallable_;
  }

  std::string lost_;
  bool recallable_ = true;
  int recalls_ = 0;

 private:
  std::set<std::tuple<int, int, std::uint64_t>> settled_;
};

constexpr std::size_t kBytes = 64;

TEST(Slots, AreFreeOnceAllReadersHaveCredited) {
  Settled endpoint;
  Slots slots;
  const Slots::Spot spot{0, 0};
  EXPECT_EQ(slots.reader_of(endpoint, spot, kBytes), Slots::kFree);
  slots.note(spot, kBytes, 1, 0, 7);
  slots.note(spot, kBytes, 2, 0, 7);
  EXPECT_FALSE(slots.idle(endpoint));
  endpoint.credit_of(1, 0, 7);
  EXPECT_EQ(slots.reader_of(endpoint, spot, kBytes), 2);
  endpoint.credit_of(2, 0, 7);
  EXPECT_EQ(slots.reader_of(endpoint, spot, kBytes), Slots::kFree);
  EXPECT_TRUE(slots.idle(endpoint));
}

TEST(Slots, HoldTheirReadersAtAnyPlace) {
  Settled endpoint;
  Slots slots;
  slots.note({0, 0}, kBytes, 1, 0, 0);
  // The plan's window: the same slot is not free, wherever its bytes would lie.
  EXPECT_EQ(slots.reader_of(endpoint, {0, 4096}, kBytes), 1);
  EXPECT_EQ(slots.reader_of(endpoint, {kBytes, 4096}, kBytes), Slots::kFree);
}

TEST(Slots, HoldTheirPlacesAgainstEveryOtherSlot) {
  Settled endpoint;
  Slots slots;
  slots.note({0, 4096}, kBytes, 1, 0, 0);
  for (const std::size_t place : {4096 - kBytes + 1, std::size_t{4096}, 4096 + kBytes - 1})
    EXPECT_EQ(slots.reader_of(endpoint, {8192, place}, kBytes), 1) << place;
  for (const std::size_t place : {4096 - kBytes, 4096 + kBytes})
    EXPECT_EQ(slots.reader_of(endpoint, {8192, place}, kBytes), Slots::kFree) << place;
}

TEST(Slots, AreIdleWhoeverIsGone) {
  Settled endpoint;
  Slots slots;
  slots.note({0, 0}, kBytes, 1, 0, 0);
  EXPECT_FALSE(slots.idle(endpoint));
  endpoint.lost_ = "it has left";
  EXPECT_TRUE(slots.idle(endpoint));
}

// Slots over memory of their own.
class SlotsToLend : public ::testing::Test {
 protected:
  SlotsToLend() : memory_(Slots::kBytes) {
    slots_.lease({memory_.data(), memory_.size(), location_of(1, 0)});
  }
  // To rank 1, as a message of its own number.
  Slot lend(std::size_t turn = 1) {
    const Slot slot = slots_.to_lend(turn);
    slots_.lend(slot, 1, 0, number_++, kBytes);
    return slot;
  }

  std::vector<std::byte> memory_;
  Slots slots_;
  Settled endpoint_;
  std::uint64_t number_ = 0;
};

TEST_F(SlotsToLend, LieApartAndBehindThePlans) {
  std::set<std::byte*> seen;
  std::byte* last = memory_.data() + kSlotBytes - kLentBytes;
  for (std::size_t i = 0; i < LentSlots::kSlots; ++i) {
    const Slot slot = lend();
    ASSERT_TRUE(slot.lend);
    EXPECT_EQ(slot.where.bits, location_of(1, 0).bits + std::uint64_t(slot.data - memory_.data()));
    EXPECT_GE(slot.data, last + kLentBytes);
    last = slot.data;
  }
  EXPECT_LE(last + kLentBytes, memory_.data() + memory_.size());
  EXPECT_EQ(slots_.to_lend(1).data, nullptr) << "all are lent";
  EXPECT_EQ(slots_.to_lend(8).data, nullptr);
}

TEST_F(SlotsToLend, WhatCameBackLastGoesFirst) {
  const Slot first = lend(), second = lend();
  slots_.come_back(first.data);
  slots_.come_back(second.data);
  EXPECT_EQ(slots_.to_lend(1).data, second.data);
  slots_.come_back(second.data);  // it is here
  (void)lend();
  EXPECT_EQ(slots_.to_lend(1).data, first.data);
}

TEST_F(SlotsToLend, AsManyTurnAsAreAskedFor) {
  for (const std::size_t turn : {2u, 3u, 16u, 1000u}) {
    std::vector<std::byte*> order;
    for (std::size_t i = 0; i < 2 * LentSlots::kSlots; ++i) {
      order.push_back(lend(turn).data);
      slots_.come_back(order.back());
    }
    const std::size_t turning = std::min(turn, LentSlots::kSlots);
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), turning);
    for (std::size_t i = turning; i < order.size(); ++i) EXPECT_EQ(order[i], order[i - turning]);
  }
}

TEST_F(SlotsToLend, AreRecalledOnceTheirMessagesAreRead) {
  (void)lend();
  EXPECT_FALSE(slots_.read(endpoint_));
  EXPECT_FALSE(slots_.idle(endpoint_));
  EXPECT_EQ(endpoint_.recalls_, 0);
  endpoint_.credit_of(1, 0, 0);
  endpoint_.recallable_ = false;
  EXPECT_TRUE(slots_.read(endpoint_));
  EXPECT_FALSE(slots_.idle(endpoint_)) << "the peer is writing";
  endpoint_.recallable_ = true;
  EXPECT_TRUE(slots_.idle(endpoint_));
  EXPECT_TRUE(slots_.idle(endpoint_));
  EXPECT_EQ(endpoint_.recalls_, 2) << "none is away, none is recalled";
  for (std::size_t i = 0; i < LentSlots::kSlots; ++i) ASSERT_NE(lend().data, nullptr);
}

TEST_F(SlotsToLend, AreNotWaitedForIfTheirReaderIsGone) {
  (void)lend();
  endpoint_.lost_ = "it has left";
  EXPECT_TRUE(slots_.idle(endpoint_));
}

}  // namespace
}  // namespace weft

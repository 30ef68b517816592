// Who may still be in a slot, or in its place.
#include "engine/slots.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

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

  std::string lost_;

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

}  // namespace
}  // namespace weft

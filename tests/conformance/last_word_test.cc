// A peer that sends and leaves at the worst moment: after the receiver has looked for its
// message, before it looks whether the peer is there.
#include "comm/point_to_point.h"
#include "conformance/fabrics.h"

namespace weft::testing {
namespace {

constexpr auto kLimit = std::chrono::seconds(30);

// An endpoint that lets something happen just before it first says whether there is trouble.
class Delayed final : public Endpoint {
 public:
  Delayed(std::unique_ptr<Endpoint> endpoint, std::function<void(Endpoint&)> before)
      : Endpoint(endpoint->depth()), to_(std::move(endpoint)), before_(std::move(before)) {}

  std::string ticket() const override { return to_->ticket(); }
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override {
    to_->connect(tickets, deadline);
  }
  void prepare(Outgoing& out) override { to_->prepare(out); }
  void post(const Outgoing& out) override { to_->post(out); }
  bool settled(int peer, int channel, std::uint64_t number, std::size_t bytes) override {
    return to_->settled(peer, channel, number, bytes);
  }
  bool credited(int peer, int channel, std::uint64_t total) override {
    return to_->credited(peer, channel, total);
  }
  const Header* arrival(int peer, int channel, std::uint64_t number) override {
    return to_->arrival(peer, channel, number);
  }
  Delivery payload(int peer, int channel, std::uint64_t number, const Buffers& mine) override {
    return to_->payload(peer, channel, number, mine);
  }
  void credit(int peer, int channel, std::uint64_t total) override {
    to_->credit(peer, channel, total);
  }
  int end(Outcome outcome) override { return to_->end(outcome); }
  std::string lost(int peer) override { return to_->lost(peer); }
  void abort(const std::string& why) override { to_->abort(why); }
  bool troubled() const override {
    if (auto before = std::exchange(before_, {})) before(*to_);
    return to_->troubled();
  }
  std::string why_aborted() const override { return to_->why_aborted(); }

 private:
  const std::unique_ptr<Endpoint> to_;
  mutable std::function<void(Endpoint&)> before_;
};

// One of two ranks that send and receive over `endpoint`.
struct Talker {
  Talker(std::shared_ptr<Fabric> fabric, std::unique_ptr<Endpoint> endpoint, int me)
      : planner(me, 2, Settings{}, fabric),
        transfers(Engine::of(fabric), std::move(endpoint), me, 2, std::make_shared<Fate>(), {},
                  planner) {}
  Planner planner;
  PointToPoint transfers;
};

class LastWordTest : public ::testing::TestWithParam<FabricKind> {};

TEST_P(LastWordTest, OfAPeerThatLeftIsReceived) {
  run_lane(GetParam(), 2, [](LaneRank& r) {
    if (r.me == 1) {
      Talker sender(std::exchange(r.fabric, nullptr), std::move(r.lane), 1);
      (void)r.store.get("looked", kLimit);
      const int seven = 7;
      sender.transfers.send(&seven, 1, DType::kI32, 0, 5, kLimit, false).wait();
      return;
    }
    bool left = false;
    const auto let_it_send_and_leave = [&](Endpoint& endpoint) {
      r.store.set("looked", "");
      await("the loss", [&] { return !endpoint.lost(1).empty(); });
      left = true;
    };
    Talker receiver(r.fabric, std::make_unique<Delayed>(std::move(r.lane), let_it_send_and_leave),
                    0);
    int x = 0;
    receiver.transfers.receive(&x, 1, DType::kI32, 1, 5, kLimit, false).wait();
    EXPECT_EQ(x, 7);
    EXPECT_TRUE(left) << "it left before";
  });
}

INSTANTIATE_TEST_SUITE_P(Fabrics, LastWordTest, ::testing::ValuesIn(fabric_kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing

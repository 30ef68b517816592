// A lane of MPI's and OpenSHMEM's processes, between two ends whose messages the test holds back.
#include "fabric/mail/lane.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/error.h"

namespace weft::mail {
namespace {

// What is under way from one end to the other.
struct Way {
  std::deque<Mail> mail{};
  std::vector<std::pair<Mail::Kind, bool>> sent{};  // with whether it is awaited
  std::deque<std::span<const std::byte>> payloads{};
  std::uint64_t taken = 0;    // payloads, by the reader
  std::uint64_t in_use = 0;   // of these, those whose memory the library still reads
  bool payloads_flow = true;  // else they wait in the library
};

class HeldLine final : public Line {
 public:
  HeldLine(Way& out, Way& in) : out_(out), in_(in) {}
  void join(std::uint64_t) override {}
  void send(const Mail& mail, std::size_t, bool awaited) override {
    out_.mail.push_back(mail);
    out_.sent.emplace_back(mail.kind, awaited);
  }
  void send_payload(const std::byte* data, std::size_t bytes) override {
    out_.payloads.emplace_back(data, bytes);
  }
  std::uint64_t sent() override { return out_.taken - out_.in_use; }
  bool idle() override { return out_.payloads.empty() && out_.in_use == 0; }
  const Mail* next() override {
    if (in_.mail.empty()) return nullptr;
    shown_ = in_.mail.front();
    in_.mail.pop_front();
    return &shown_;
  }
  void receive(std::byte* into, std::size_t bytes) override { wanted_.emplace_back(into, bytes); }
  std::uint64_t received() override {
    while (in_.payloads_flow && !wanted_.empty() && !in_.payloads.empty()) {
      std::memcpy(wanted_.front().data(), in_.payloads.front().data(), wanted_.front().size());
      wanted_.pop_front();
      in_.payloads.pop_front();
      ++in_.taken;
    }
    return in_.taken;
  }

 private:
  Way &out_, &in_;
  Mail shown_;
  std::deque<std::span<std::byte>> wanted_;
};

class HeldLines final : public Lines {
 public:
  HeldLines(Way& out, Way& in) : Lines(mutex_), out_(out), in_(in) {}
  bool may_call() const override { return true; }
  std::uint64_t claim(std::size_t) override { return 0; }
  void give_back(std::uint64_t) override {}
  bool is_number(std::uint64_t, std::size_t) const override { return true; }
  std::unique_ptr<Line> open(std::uint64_t, int, int, int) override {
    return std::make_unique<HeldLine>(out_, in_);
  }
  std::string describe(int rank) const override { return "rank " + std::to_string(rank); }

 private:
  std::mutex mutex_;
  Way &out_, &in_;
};

class MailLane : public ::testing::Test {
 protected:
  static constexpr std::size_t kLong = 5000;
  static constexpr std::uint64_t kPatience = 8;

  MailLane() {
    a_.greet({0, 0});
    b_.greet({0, 0});
    a_.progress();
    b_.progress();
  }
  // A lane leaves behind the memory that its library still uses.
  ~MailLane() override {
    there_.payloads_flow = true;
    b_.progress();
  }

  // Message `number` of `bytes` from a to b.
  void send(std::uint64_t number, std::size_t bytes) {
    const std::vector<std::byte> data(bytes, std::byte(7 + number));
    Outgoing out;
    out.source = data.data();
    out.bytes = bytes;
    Slot slot{slots_.data() + number * kLong, {}, false};
    out.slot = &slot;
    a_.send(1, out, number, nullptr);
  }
  bool arrived(std::uint64_t number) { return b_.arrival(0, 0, number) != nullptr; }

  std::vector<std::byte> slots_{16 * kLong};
  Way there_, back_;
  HeldLines lines_a_{there_, back_}, lines_b_{back_, there_};
  Lane a_{lines_a_, {0, 1}, 0}, b_{lines_b_, {0, 1}, 1};
};

TEST_F(MailLane, OnlyMessagesOfCollectivesAndAbortsAreAwaited) {
  using Kind = Mail::Kind;
  const auto sent = [](Way& way) { return std::exchange(way.sent, {}); };
  using Sent = std::vector<std::pair<Kind, bool>>;
  EXPECT_EQ(sent(there_), Sent({{Kind::kHello, false}}));
  send(0, kLong);  // point to point
  EXPECT_EQ(sent(there_), Sent({{Kind::kMessage, false}}));
  a_.begin(1);
  send(1, 8);
  EXPECT_EQ(sent(there_), Sent({{Kind::kMessage, true}}));
  sent(back_);
  b_.begin(1);
  b_.progress();
  b_.credit(0, 0, 2, kPatience);
  EXPECT_EQ(sent(back_), Sent({{Kind::kCredit, false}}));
  b_.abort("enough");
  EXPECT_EQ(sent(back_), Sent({{Kind::kAbort, true}}));
}

TEST_F(MailLane, AnAbortWaitsForThePayloadsBeforeIt) {
  there_.payloads_flow = false;
  send(0, kLong);
  a_.abort("enough");
  b_.progress();
  EXPECT_FALSE(b_.troubled());
  EXPECT_FALSE(arrived(0));
  there_.payloads_flow = true;
  b_.progress();
  EXPECT_TRUE(b_.troubled());
  EXPECT_EQ(b_.why_aborted(), "enough");
  ASSERT_TRUE(arrived(0));
  EXPECT_EQ(b_.payload(0, 0, 0).data[kLong - 1], std::byte{7});
}

TEST_F(MailLane, AnAbortWaitsNoLongerThanASecond) {
  there_.payloads_flow = false;
  send(0, kLong);
  a_.abort("enough");
  const auto begun = Clock::now();
  while (!b_.troubled() && Clock::now() < begun + std::chrono::seconds(5)) b_.progress();
  EXPECT_TRUE(b_.troubled());
  EXPECT_GE(Clock::now(), begun + std::chrono::milliseconds(900));
  EXPECT_FALSE(arrived(0));
}

TEST_F(MailLane, AFarewellComesAfterThePayloadsBeforeIt) {
  there_.payloads_flow = false;
  send(0, kLong);
  a_.say_farewell();
  b_.progress();
  EXPECT_FALSE(b_.has_left(0));
  there_.payloads_flow = true;
  b_.progress();
  EXPECT_TRUE(b_.has_left(0) && b_.troubled() && arrived(0));
  EXPECT_EQ(b_.why_aborted(), "");
  EXPECT_FALSE(a_.is_over()) << "its peer has not left";
  b_.say_farewell();
  EXPECT_TRUE(a_.is_over());
}

TEST_F(MailLane, AFarewellSaysWhetherTheMemberHadConnected) {
  a_.note_connected();
  a_.say_farewell();
  b_.say_farewell();
  a_.progress();
  b_.progress();
  EXPECT_TRUE(b_.has_left(0));
  EXPECT_FALSE(b_.left_unconnected(0));
  EXPECT_TRUE(a_.left_unconnected(1));
}

TEST_F(MailLane, TheCreditOfALongPayloadIsSentAtOnceOthersInBatches) {
  for (std::uint64_t n = 0; n < kPatience; ++n) send(n, 8);
  b_.progress();
  b_.credit(0, 0, kPatience - 1, kPatience);
  a_.progress();
  EXPECT_FALSE(a_.credited(1, 0, 1));
  b_.credit(0, 0, kPatience, kPatience);
  a_.progress();
  EXPECT_TRUE(a_.credited(1, 0, kPatience));
  send(kPatience, kLong);
  b_.progress();
  b_.credit(0, 0, kPatience + 1, kPatience);
  a_.progress();
  EXPECT_TRUE(a_.credited(1, 0, kPatience + 1));
}

TEST_F(MailLane, ASlotIsInUseWhileTheLibraryReadsIt) {
  send(0, kLong);
  send(1, kLong);
  b_.progress();
  there_.in_use = 1;
  b_.credit(0, 0, 2, kPatience);
  a_.progress();
  EXPECT_TRUE(a_.credited(1, 0, 2));
  EXPECT_TRUE(a_.settled(1, 0, 0));
  EXPECT_FALSE(a_.settled(1, 0, 1)) << "credited, but not sent";
  EXPECT_EQ(a_.awaited(), 1);
  there_.in_use = 0;
  EXPECT_TRUE(a_.settled(1, 0, 1));
  EXPECT_EQ(a_.awaited(), Endpoint::kNobody);
}

TEST_F(MailLane, AMemberThatHasLeftIsNotAwaited) {
  send(0, kLong);
  there_.payloads_flow = false;
  a_.progress();
  EXPECT_EQ(a_.awaited(), 1);
  b_.say_farewell();
  a_.progress();
  EXPECT_TRUE(a_.has_left(1));
  EXPECT_EQ(a_.awaited(), Endpoint::kNobody);
  a_.say_farewell();
  EXPECT_FALSE(a_.is_over()) << "the library still reads the payload";
}

TEST_F(MailLane, AMessageIsSeenOnceItsPayloadIsHere) {
  there_.payloads_flow = false;
  send(0, kLong);
  send(1, 8);
  b_.progress();
  EXPECT_FALSE(arrived(0));
  EXPECT_TRUE(arrived(1)) << "a short one overtakes";
  EXPECT_FALSE(arrived(2));
  there_.payloads_flow = true;
  b_.progress();
  EXPECT_TRUE(arrived(0));
}

TEST_F(MailLane, DamagedMailIsRefused) {
  Mail abort;
  abort.kind = Mail::Kind::kAbort;
  abort.header.bytes = kInlineBytes + 1;
  there_.mail.push_back(abort);
  EXPECT_THROW(b_.progress(), InternalError);
  for (const int channel : {-1, kMaxChannels}) {
    Mail credit;
    credit.kind = Mail::Kind::kCredit;
    credit.channel = channel;
    there_.mail.push_back(credit);
    EXPECT_THROW(b_.progress(), InternalError);
  }
}

}  // namespace
}  // namespace weft::mail

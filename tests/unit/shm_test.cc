// What is peculiar to the shared memory fabric: its addresses, its doorbell, its socket.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/futex.h"
#include "base/membarrier.h"
#include "base/unique_fd.h"
#include "fabric/bell.h"
#include "fabric/doorbell.h"
#include "fabric/mapping.h"
#include "fabric/shm/address.h"
#include "fabric/shm/layout.h"
#include "fabric/shm/wire.h"
#include "weft/communicator.h"
#include "weft/error.h"

namespace weft::shm {
namespace {

Clock::time_point soon() { return Clock::now() + std::chrono::milliseconds(100); }
Clock::time_point late() { return Clock::now() + std::chrono::seconds(30); }

TEST(ShmAddress, IsPrintableAndComesBack) {
  const Address address = Address::own(Token::random());
  const std::string text = address.text();
  EXPECT_LT(text.size(), 1024u);
  for (char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << int(c);
  const Address back = Address::parse(text);
  EXPECT_EQ(back.text(), text);
  EXPECT_EQ(back.token, address.token);
  EXPECT_EQ(back.pid, ::getpid());
  EXPECT_EQ(address.obstacle(back), "");
}

// What differs in the peer's address, and a word of the reason.
TEST(ShmAddress, NamesTheObstacle) {
  struct Row {
    std::function<void(Address&)> change;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {[](Address& a) { a.version++; }, "version"},
      {[](Address& a) { a.boot = "another", a.host = "beta"; }, "beta"},
      {[](Address& a) { a.net_namespace++; }, "namespace"},
      {[](Address& a) { a.uid++; }, "user"},
  };
  const auto fabric = make_shm_fabric();
  for (const Row& row : rows) {
    Address peer = Address::own(Token::random());
    row.change(peer);
    try {
      fabric->open({fabric->address(), peer.text()}, 0, late());
      FAIL() << "reached a peer with another " << row.reason;
    } catch (const Unsupported& error) {
      EXPECT_NE(std::string(error.what()).find(row.reason), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  }
}

// A ping-pong in which a lost wake-up would last ten seconds.
// crowd: the round in which one side begins to expect a crowd; the other one follows. 0: neither.
// far: rings come through the bell of a far fabric.
void play_ping_pong(std::uint32_t crowd, bool far = false) {
  if (!register_heavy_fence()) GTEST_SKIP() << "the kernel has no membarrier";
  constexpr std::uint32_t kRounds = 3000;
  struct Side {
    Doorbell door{};
    Bell bell{};
    alignas(kLine) std::atomic<std::uint32_t> message{0};
  };
  Side sides[2];
  for (Side& side : sides) side.bell.forward([&side] { ring(side.door); });
  const auto ring_at = [far](Side& side) { far ? side.bell.ring() : ring(side.door); };
  std::atomic<int> lost{0};
  const auto play = [&](Side& own, Side& other, bool first) {
    for (std::uint32_t n = 1; n <= kRounds; ++n) {
      if (crowd > 0 && n == crowd + (first ? 0 : 1)) expect_crowd(own.door);
      if (first) {
        other.message.store(n, std::memory_order_release);
        ring_at(other);
      }
      while (own.message.load(std::memory_order_acquire) != n) {
        if (far) (void)own.bell.announce();
        const std::uint32_t bell = announce(own.door);
        if (own.message.load(std::memory_order_acquire) != n) {
          const auto start = Clock::now();
          futex_wait(own.door.bell, bell, std::chrono::seconds(10));
          lost += Clock::now() - start > std::chrono::seconds(9);
        }
        retire(own.door);
      }
      if (!first) {
        other.message.store(n, std::memory_order_release);
        ring_at(other);
      }
    }
  };
  std::thread peer([&] { play(sides[1], sides[0], false); });
  play(sides[0], sides[1], true);
  peer.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(sides[0].door.sleepers, 0u);
}

TEST(ShmDoorbell, LosesNoWakeUp) { play_ping_pong(0); }
TEST(ShmDoorbell, LosesNoWakeUpInACrowd) { play_ping_pong(1); }
TEST(ShmDoorbell, LosesNoWakeUpWhenACrowdComes) { play_ping_pong(1000); }
TEST(ShmDoorbell, LosesNoWakeUpOfAFarFabric) { play_ping_pong(0, true); }

// How often, in 0.3 s of rounds, who goes to sleep did not see the message of who rings, and who
// rings did not see that somebody goes to sleep.
std::uint32_t both_missed(bool crowd) {
  Doorbell door{};
  alignas(kLine) std::atomic<std::uint32_t> message{0};
  struct alignas(kLine) Place {
    std::atomic<std::uint32_t> at{0};
  };
  Place ringer, sleeper;
  std::atomic<bool> over{false};
  const auto meet = [](Place& own, Place& other, std::uint32_t at) {
    own.at.store(at);
    for (int looks = 0; other.at.load() < at; ++looks)
      if (looks > 2000) std::this_thread::yield();
  };
  if (crowd) expect_crowd(door);
  std::thread rings([&] {
    for (std::uint32_t n = 1;; ++n) {
      meet(ringer, sleeper, 2 * n);
      if (over) return;
      message.store(n, std::memory_order_relaxed);
      ring(door);
      meet(ringer, sleeper, 2 * n + 1);
    }
  });
  std::uint32_t missed = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(300);
  for (std::uint32_t n = 1;; ++n) {
    over = Clock::now() > end;
    meet(sleeper, ringer, 2 * n);
    if (over) break;
    const std::uint32_t bell = announce(door);
    const bool saw = message.load(std::memory_order_relaxed) == n;
    meet(sleeper, ringer, 2 * n + 1);
    missed += !saw && door.bell.load() == bell;
    retire(door);
  }
  rings.join();
  return missed;
}

TEST(ShmDoorbell, OneOfTheTwoSeesTheOther) {
  if (!register_heavy_fence()) GTEST_SKIP() << "the kernel has no membarrier";
  EXPECT_EQ(both_missed(false), 0u);
}
TEST(ShmDoorbell, OneOfTheTwoSeesTheOtherInACrowd) { EXPECT_EQ(both_missed(true), 0u); }

// A socket with the name of a fabric, behind which there is none.
class FalseFabric {
 public:
  FalseFabric() : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const auto [name, length] = socket_of(token_);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), length), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
  }
  const Token& token() const { return token_; }
  std::string address() const { return Address::own(token_).text(); }
  UniqueFd accept() const { return UniqueFd(::accept(socket_.get(), nullptr, nullptr)); }

 private:
  const Token token_ = Token::random();
  UniqueFd socket_;
};

TEST(ShmOpen, TimesOutOnASilentMember) {
  const auto fabric = make_shm_fabric();
  const FalseFabric silent;
  try {
    fabric->open({silent.address(), fabric->address()}, 1, soon());
    FAIL() << "nobody answered";
  } catch (const Timeout& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
  }
}

// What a member may answer instead of a welcome.
TEST(ShmOpen, DropsAMemberThatTalksNonsense) {
  struct Row {
    const char* what;
    std::function<void(int, const Token&)> answer;
  };
  const std::vector<Row> rows = {
      {"nothing, and hangs up", [](int, const Token&) {}},
      {"text", [](int s, const Token&) { ::send(s, "hello", 5, 0); }},
      {"another token", [](int s, const Token&) { send_notice(s, {.token = Token::random()}); }},
      {"another version",
       [](int s, const Token& t) { send_notice(s, {.version = 99, .token = t}); }},
      {"a count too large",
       [](int s, const Token& t) {
         Notice notice{.token = t};
         notice.released = Notice::kMostReleased;
         ::send(s, &notice, kNoticeHead, 0);
       }},
  };
  for (const Row& row : rows) {
    const auto fabric = make_shm_fabric();
    const FalseFabric member;
    std::thread answering([&] {
      const UniqueFd socket = member.accept();
      row.answer(socket.get(), member.token());
    });
    EXPECT_THROW(fabric->open({fabric->address(), member.address()}, 0, late()), PeerLost)
        << row.what;
    answering.join();
  }
}

TEST(ShmOpen, RefusesMemoryThatCouldShrink) {
  const auto fabric = make_shm_fabric();
  const FalseFabric member;
  std::thread answering([&] {
    const UniqueFd socket = member.accept();
    const UniqueFd memory(::memfd_create("unsealed", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), 4096), 0);
    Notice give{.kind = Kind::kGive, .token = member.token(), .segment = kDoorbellSegment};
    give.bytes = 4096;
    EXPECT_TRUE(send_notice(socket.get(), give, memory.get()));
    char end;
    while (::recv(socket.get(), &end, 1, 0) > 0) {
    }
  });
  EXPECT_THROW(fabric->open({fabric->address(), member.address()}, 0, late()), Unsupported);
  // The fabric hangs up when it goes, and that ends the member.
  const_cast<std::shared_ptr<Fabric>&>(fabric).reset();
  answering.join();
}

// Nonsense sent to a fabric hurts nobody: a lane opens afterwards.
TEST(ShmServer, DropsCallersThatTalkNonsense) {
  const auto fabric = make_shm_fabric(), peer = make_shm_fabric();
  const Token token = Address::parse(fabric->address()).token;
  const auto [name, length] = socket_of(token);
  const auto dial = [&, &name = name, &length = length] {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), length), 0);
    return socket;
  };
  const std::vector<std::function<void(int)>> calls = {
      [](int) {},
      [](int s) { ::send(s, "nonsense", 8, 0); },
      [](int s) { send_notice(s, {.kind = Kind::kAsk, .segment = 1}); },  // without a hello
      [](int s) { send_notice(s, {.kind = Kind::kWelcome}); },
      [](int s) { send_notice(s, {.kind = Kind::kHello}, s); },  // with a descriptor
  };
  for (const auto& call : calls) {
    const UniqueFd socket = dial();
    call(socket.get());
  }
  const UniqueFd socket = dial();
  ::send(socket.get(), "nonsense", 8, 0);
  char byte;
  EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0) << "the fabric hangs up";
  EXPECT_NO_THROW(peer->open({peer->address(), fabric->address()}, 0, late()));
}

// While it lives, this process can open only `room` more descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t room) {
    const UniqueFd next(::dup(STDERR_FILENO));
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few{static_cast<rlim_t>(next.get()) + room, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(ShmFabric, SaysWhenTheSystemHasNoMoreDescriptors) {
  const auto fabric = make_shm_fabric();
  fabric->release(fabric->allocate(4096));
  {
    const FewDescriptors few(0);
    EXPECT_THROW(fabric->allocate(4096), Unsupported);
  }
  {
    const FewDescriptors few(3);  // a fabric takes five
    EXPECT_THROW(make_shm_fabric(), Unsupported);
  }
  EXPECT_NO_THROW(fabric->release(fabric->allocate(4096)));
}

TEST(ShmProcessFabric, IsSharedWhileHeld) {
  auto first = process_fabric();
  EXPECT_EQ(first, process_fabric());
  const std::string address = first->address();
  first.reset();
  EXPECT_NE(process_fabric()->address(), address);
}

}  // namespace
}  // namespace weft::shm

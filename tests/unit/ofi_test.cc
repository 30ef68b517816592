// What is peculiar to the libfabric fabric: parts of messages that pass each other, its addresses,
// strangers at its door, a peer's segments.
#if WEFT_OFI
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "fabric/ofi/lane/ahead.h"
#include "fabric/ofi/lane/inbox.h"
#include "fabric/ofi/net/interface.h"
#include "fabric/ofi/net/library.h"
#include "fabric/ofi/session/address.h"
#include "fabric/ofi/session/notice.h"
#include "fabric/ofi/session/secret.h"
#include "weft/communicator.h"
#include "weft/error.h"

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

TEST(OfiAddress, IsPrintableAndComesBack) {
  const auto fabric = make_ofi_fabric();
  const std::string text = fabric->address();
  EXPECT_LT(text.size(), 1024u);
  for (char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << int(c);
  EXPECT_EQ(Address::parse(text).text(), text);
  EXPECT_EQ(Address::parse(text).pid, ::getpid());
}

TEST(OfiAddress, NamesTheObstacle) {
  struct Row {
    std::function<void(Address&)> change;
    std::string reason;
  };
  const std::vector<Row> rows = {
      {[](Address& a) { a.version++; }, "version"},
      {[](Address& a) { a.provider = "verbs;ofi_rxm"; }, "WEFT_OFI_PROVIDER"},
      {[](Address& a) { a.ip = is_loopback(a.ip) ? "192.0.2.1" : "127.0.0.1"; }, "WEFT_INTERFACE"},
      {[](Address& a) { a.ip = a.ip.find(':') == a.ip.npos ? "2001:db8::1" : "192.0.2.1"; },
       "WEFT_INTERFACE"},
  };
  const auto fabric = make_ofi_fabric(), other = make_ofi_fabric();
  for (const Row& row : rows) {
    Address peer = Address::parse(other->address());
    row.change(peer);
    try {
      fabric->open({fabric->address(), peer.text()}, 0, Clock::now() + std::chrono::seconds(30));
      FAIL() << "reached a peer with another " << row.reason;
    } catch (const Unsupported& error) {
      EXPECT_NE(std::string(error.what()).find(row.reason), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  }
}

// Somebody who found the port, but was not told of it.
TEST(OfiServer, ClosesTheDoorToStrangers) {
  const auto fabric = make_ofi_fabric();
  const Address address = Address::parse(fabric->address());
  const auto soon = [] { return Clock::now() + std::chrono::seconds(30); };
  const auto answer = [&](const Notice& first) {
    Talk talk(connect_to(address, soon()));
    EXPECT_TRUE(talk.send(first));
    Notice reply;
    Talk::What what;
    while ((what = talk.receive(reply)) == Talk::What::kNothing) ::usleep(1000);
    return what;
  };
  Notice hello;
  EXPECT_EQ(answer(hello), Talk::What::kEnd) << "it does not know the name";
  hello.head.to = address.token;
  EXPECT_EQ(answer(hello), Talk::What::kNotice) << "and it asks for a proof";
  hello.head.version = kWireVersion + 1;
  EXPECT_EQ(answer(hello), Talk::What::kEnd) << "another version";
  hello = {};
  hello.head.kind = Kind::kAbort;
  hello.head.to = address.token;
  EXPECT_EQ(answer(hello), Talk::What::kEnd) << "it has not said who it is";
}

// A port in front of a fabric's: closes the first connections, and passes the next one on.
class Relay {
 public:
  Relay(const Address& real, int refusals)
      : listener_(listen_at(real.ip)), port(port_of(listener_.get())) {
    thread_ = std::thread([this, real, refusals] {
      for (int n = 0; n < refusals; ++n) LiveFd refused = accept();
      LiveFd near = accept(), far = connect_to(real, Clock::now() + std::chrono::seconds(30));
      while (pass(near.get(), far.get()) && pass(far.get(), near.get())) ::usleep(500);
    });
  }
  ~Relay() { thread_.join(); }

 private:
  LiveFd accept() {
    pollfd wanted{listener_.get(), POLLIN, 0};
    ::poll(&wanted, 1, 30000);
    return LiveFd([this] { return ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK); });
  }
  // False: there is no more.
  static bool pass(int from, int to) {
    char bytes[4096];
    const ssize_t got = ::recv(from, bytes, sizeof bytes, 0);
    if (got > 0) (void)!::send(to, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL);
    return got > 0 || (got < 0 && errno == EAGAIN);
  }

  LiveFd listener_;
  std::thread thread_;

 public:
  const std::uint16_t port;
};

// As a listener does whom strangers beset: it takes this one for one of them.
TEST(OfiRemote, DialsAgainWhereItWasTurnedAway) {
  for (const int refusals : {0, 1, 4, 5}) {
    auto left = make_ofi_fabric();
    const auto right = make_ofi_fabric();
    Address address = Address::parse(right->address());
    Relay relay(address, refusals);
    address.port = relay.port;
    std::string said;
    try {
      left->open({left->address(), address.text()}, 0, Clock::now() + std::chrono::seconds(30));
    } catch (const PeerLost& error) {
      said = error.what();
    }
    EXPECT_EQ(said.empty(), refusals < 5) << refusals << said;
    left.reset();
    if (refusals == 5) connect_to(address, Clock::now() + std::chrono::seconds(30));
  }
}

TEST(OfiSecret, SignsAsTheStandardSays) {
  // RFC 4231's keys and texts are bytes; this was computed by Python's hmac module.
  ::setenv("WEFT_SECRET", "Jefe", 1);
  const Secret secret = Secret::from_environment();
  EXPECT_EQ(secret.sign({"what do ya want", ""}),
            "1263002c9bf03f8202e8e1df08995c40a307f1f37eb4ec8f8cc89e55c8e8fc58");
  EXPECT_TRUE(secret.signed_by(secret.sign({"a", "b"}), {"a", "b"}));
  EXPECT_FALSE(secret.signed_by(secret.sign({"a", "b"}), {"ab"})) << "words are kept apart";
  EXPECT_FALSE(secret.signed_by("", {"a"}));
  ::unsetenv("WEFT_SECRET");
  EXPECT_EQ(Secret::from_environment().sign({"a"}), "");
}

TEST(OfiSecret, IsWhatRanksKnowEachOtherBy) {
  struct Row {
    const char *left, *right;
    bool meet;
  };
  for (const Row& row : {Row{"one", "one", true}, Row{"one", "two", false}, Row{"one", "", false},
                         Row{"", "two", false}}) {
    ::setenv("WEFT_SECRET", row.left, 1);
    const auto left = make_ofi_fabric();
    ::setenv("WEFT_SECRET", row.right, 1);
    const auto right = make_ofi_fabric();
    ::unsetenv("WEFT_SECRET");
    const std::vector<std::string> addresses = {left->address(), right->address()};
    std::string said;
    try {
      left->open(addresses, 0, Clock::now() + std::chrono::seconds(30));
    } catch (const PeerLost& error) {
      said = error.what();
    }
    EXPECT_EQ(said.empty(), row.meet) << row.left << ' ' << row.right << ' ' << said;
    if (row.meet) continue;
    EXPECT_NE(said.find("WEFT_SECRET"), std::string::npos) << said;
    EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
  }
}

TEST(OfiInterface, IsTheOneThatIsAskedFor) {
  const std::vector<Interface> all = interfaces();
  ASSERT_FALSE(all.empty());
  for (const Interface& each : all) {
    ::setenv("WEFT_INTERFACE", each.address.c_str(), 1);
    const std::vector<Interface> chosen = choose_interfaces();
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_EQ(chosen[0].name, each.name);
    EXPECT_EQ(chosen[0].address, each.address);
  }
  ::setenv("WEFT_INTERFACE", "wrong7", 1);
  try {
    make_ofi_fabric();
    ADD_FAILURE() << "there is none of that name";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("wrong7"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(all[0].name), std::string::npos) << error.what();
  }
  ::unsetenv("WEFT_INTERFACE");
  EXPECT_FALSE(choose_interfaces().at(0).why.empty());
}

// Each test is a process of its own under ctest, so that this one is the first to load it.
TEST(OfiLibrary, TakesNoSignalFromTheProcess) {
  const auto handlers = [] {
    std::vector<void (*)(int)> found;
    for (int signal : {SIGHUP, SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM}) {
      struct sigaction now{};
      sigaction(signal, nullptr, &now);
      found.push_back(now.sa_handler);
    }
    return found;
  };
  const auto before = handlers();
  library();
  EXPECT_EQ(handlers(), before);
}

}  // namespace
}  // namespace weft::ofi
#endif

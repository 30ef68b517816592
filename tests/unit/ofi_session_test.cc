// How the libfabric fabric finds its peers: its address, strangers at its door, secrets,
// interfaces.
#if WEFT_OFI
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/ofi/net/interface.h"
#include "fabric/ofi/net/library.h"
#include "fabric/ofi/net/packet.h"
#include "fabric/ofi/session/address.h"
#include "fabric/ofi/session/notice.h"
#include "fabric/ofi/session/secret.h"
#include "weft/communicator.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

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

// In a process of its own, which nothing has loaded it into.
TEST(OfiLibraryDeathTest, TakesNoSignalFromTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto handlers = [] {
    std::vector<void (*)(int)> found;
    for (int signal : {SIGHUP, SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM}) {
      struct sigaction now{};
      sigaction(signal, nullptr, &now);
      found.push_back(now.sa_handler);
    }
    return found;
  };
  EXPECT_EXIT(
      {
        const auto before = handlers();
        library();
        std::_Exit(handlers() == before ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::ofi
#endif

#include "fabric/ofi/session/address.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <sstream>

#include "base/errno_text.h"
#include "fabric/ofi/net/interface.h"
#include "fabric/ofi/net/link.h"
#include "fabric/ofi/net/packet.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool from_hex(const std::string& text, std::string& bytes) {
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]), low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes += static_cast<char>(high << 4 | low);
  }
  return text.size() % 2 == 0 && !bytes.empty();
}

bool from_hex(const std::string& text, std::vector<std::string>& rails) {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (!from_hex(word, rails.emplace_back())) return false;
  }
  return !rails.empty() && rails.size() <= kMostRails;
}

bool is_v6(const std::string& ip) { return ip.find(':') != std::string::npos; }

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Found resolve(const std::string& ip, std::uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (::getaddrinfo(ip.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, ::freeaddrinfo};
}

int left(Clock::time_point deadline) {
  const auto rest =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(rest, 0, 1'000'000'000));
}

// Until a connect() that was begun is through: its error, or ETIMEDOUT.
int await_connection(int socket, Clock::time_point deadline) {
  pollfd wanted{socket, POLLOUT, 0};
  int ready;
  do {
    ready = ::poll(&wanted, 1, left(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Address Address::parse(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string fabric, token, rails;
  Address address;
  in >> fabric >> address.version;
  if (fabric != "ofi") {
    throw InvalidArgument("not the address of an ofi fabric: \"" + std::string(text.substr(0, 80)) +
                          "\"; give every rank the same kind of fabric");
  }
  // Another version may have other words: the caller refuses it by its number.
  if (in && address.version != kWireVersion) return address;
  in >> token >> address.pid >> address.host >> address.provider >> address.ip >> address.port >>
      rails;
  const auto parsed = Token::parse(token);
  if (!in || !parsed || !from_hex(rails, address.rails)) {
    throw InvalidArgument("damaged ofi address: \"" + std::string(text.substr(0, 80)) + "\"");
  }
  address.token = *parsed;
  return address;
}

std::string Address::text() const {
  std::ostringstream out;
  out << "ofi " << version << ' ' << token.hex() << ' ' << pid << ' ' << host << ' ' << provider
      << ' ' << ip << ' ' << port;
  for (const std::string& rail : rails) out << (&rail == rails.data() ? ' ' : ',') << to_hex(rail);
  return out.str();
}

std::string Address::process(const std::string& fate) const {
  return "process " + std::to_string(pid) + (fate.empty() ? "" : " " + fate) + " (on host " + host +
         ", " + (is_v6(ip) ? "[" + ip + "]" : ip) + ":" + std::to_string(port) + ")";
}

std::string Address::obstacle(const Address& peer) const {
  if (peer.version != version) {
    return "it runs another version of Weft (wire format " + std::to_string(peer.version) +
           ", here " + std::to_string(version) + "); install the same version everywhere";
  }
  if (peer.provider != provider) {
    return "its libfabric provider is " + peer.provider + ", here it is " + provider +
           "; set WEFT_LIBFABRIC and WEFT_OFI_PROVIDER to the same on all ranks, or WEFT_INTERFACE "
           "to interfaces of one network";
  }
  if (peer.rails.size() != rails.size()) {
    return "it has " + std::to_string(peer.rails.size()) + " rails, here there are " +
           std::to_string(rails.size()) +
           "; set WEFT_INTERFACE to as many interfaces on all hosts, those of one network in the "
           "same place";
  }
  if (is_v6(ip) != is_v6(peer.ip) || is_loopback(ip) != is_loopback(peer.ip)) {
    return "its " + peer.process() + " has an address that does not go with " + ip +
           ", the one here; set WEFT_INTERFACE to interfaces of one network";
  }
  return {};
}

LiveFd listen_at(const std::string& ip) {
  const Found found = resolve(ip, 0);
  if (!found) throw Unsupported("ofi: cannot listen at \"" + ip + "\", which is no address");
  LiveFd socket(
      [&] { return ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (!socket || ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    throw Unsupported("ofi: cannot listen for peers at " + errno_text(ip));
  }
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length);
  return ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(own).sin_port
                                        : reinterpret_cast<sockaddr_in6&>(own).sin6_port);
}

LiveFd connect_to(const Address& peer, Clock::time_point deadline) {
  const Found found = resolve(peer.ip, peer.port);
  if (!found) throw PeerLost("\"" + peer.ip + "\" is no address");
  LiveFd socket(
      [&] { return ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (!socket) throw Unsupported("no socket to it, " + errno_text("socket"));
  int error = ::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) error = await_connection(socket.get(), deadline);
  if (error == ECONNREFUSED) return {};
  if (error == ETIMEDOUT) {
    throw Timeout("no connection to " + peer.process() +
                  ": a firewall, or WEFT_INTERFACE names an interface of another network");
  }
  if (error != 0) {
    throw PeerLost("no way to " + peer.process() + ", " + errno_text("connect", error) +
                   "; set WEFT_INTERFACE to an interface that reaches it");
  }
  tune(socket.get());
  return socket;
}

void tune(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 5);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

}  // namespace weft::ofi

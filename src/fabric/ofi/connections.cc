#include "fabric/ofi/connections.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

namespace weft::ofi {
namespace {

struct Place {
  std::string host;  // an address, byte for byte
  in_port_t port = 0;
};

std::optional<Place> place_of(const void* address, std::size_t length) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, std::min(length, sizeof storage));
  const auto bytes = [](const auto& of) {
    return std::string(reinterpret_cast<const char*>(&of), sizeof of);
  };
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    return Place{bytes(in.sin_addr), in.sin_port};
  }
  if (storage.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
    return Place{bytes(in.sin6_addr), in.sin6_port};
  }
  return std::nullopt;
}

// Of one end of a socket; nothing: it is none of TCP's, or not connected.
template <typename Name>
std::optional<Place> end_of(int fd, Name name) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return name(fd, address, &length) == 0 ? place_of(address, length) : std::nullopt;
}

}  // namespace

bool shut_connections(const std::string& own, const std::string& peer) {
  const auto here = place_of(own.data(), own.size()), there = place_of(peer.data(), peer.size());
  bool unread = false;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    const auto near = end_of(fd, ::getsockname), far = end_of(fd, ::getpeername);
    if (!here || !there || !near || !far || far->host != there->host) continue;
    if (far->port != there->port && near->port != here->port) continue;
    ::shutdown(fd, SHUT_RDWR);
    int left = 0;
    unread |= ::ioctl(fd, FIONREAD, &left) == 0 && left > 0;
  }
  return unread;
}

}  // namespace weft::ofi

#include "fabric/ofi/net/connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "base/small_file.h"

namespace weft::ofi {
namespace {

struct SocketAddress {
  std::string host;  // an address, byte for byte
  in_port_t port = 0;
};

std::optional<SocketAddress> address_of(const void* address, std::size_t length) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, std::min(length, sizeof storage));
  const auto bytes = [](const auto& of) {
    return std::string(reinterpret_cast<const char*>(&of), sizeof of);
  };
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    return SocketAddress{bytes(in.sin_addr), in.sin_port};
  }
  if (storage.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
    return SocketAddress{bytes(in.sin6_addr), in.sin6_port};
  }
  return std::nullopt;
}

// Of one end of a socket; nothing: it is none of TCP's, or not connected.
template <typename Name>
std::optional<SocketAddress> end_of(int fd, Name name) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return name(fd, address, &length) == 0 ? address_of(address, length) : std::nullopt;
}

// The descriptors of this process. To ask /proc takes one: where none is left, all are in use.
std::vector<int> descriptors() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    std::from_chars(name.data(), name.data() + name.size(), found.emplace_back(-1));
  }
  if (!is_out_of_descriptors(error.value())) return found;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  found.resize(limit.rlim_cur);
  std::iota(found.begin(), found.end(), 0);
  return found;
}

// The descriptors that an epoll watches, also through epolls that it watches.
std::vector<int> watched_by(int epoll) {
  std::vector<int> found{epoll};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const std::string& line : lines_of("/proc/self/fdinfo/" + std::to_string(found[i]))) {
      int fd = -1;
      if (std::sscanf(line.c_str(), "tfd: %d", &fd) == 1 && !std::ranges::count(found, fd))
        found.push_back(fd);
    }
  }
  return found;
}

// Milliseconds since something came on a connection, if nothing was ever sent there.
std::optional<std::uint32_t> silence_of(int fd) {
  constexpr std::uint8_t kEstablished = 1;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (info.tcpi_state != kEstablished || info.tcpi_data_segs_out > 0) return std::nullopt;
  return info.tcpi_last_data_recv;
}

}  // namespace

std::size_t shut_unanswered(const std::string& own, std::size_t most,
                            std::chrono::milliseconds patience) {
  const auto here = address_of(own.data(), own.size());
  if (!here) return 0;
  std::vector<std::pair<std::uint32_t, int>> silent;
  for (const int fd : descriptors()) {
    const auto near = end_of(fd, ::getsockname);
    if (!near || near->port != here->port || !end_of(fd, ::getpeername)) continue;
    if (const auto silence = silence_of(fd)) silent.emplace_back(*silence, fd);
  }
  std::sort(silent.begin(), silent.end());
  for (std::size_t i = 0; i < silent.size(); ++i) {
    const auto& [silence, fd] = silent[i];
    if (i >= most || silence >= patience.count()) ::shutdown(fd, SHUT_RDWR);
  }
  return silent.size();
}

Shut shut_connections(int waits, const std::string& own, const std::string& peer, int how) {
  const auto here = address_of(own.data(), own.size()),
             there = address_of(peer.data(), peer.size());
  Shut shut;
  for (const int fd : watched_by(waits)) {
    const auto near = end_of(fd, ::getsockname), far = end_of(fd, ::getpeername);
    if (!here || !there || !near || !far || far->host != there->host) continue;
    if (far->port != there->port && near->port != here->port) continue;
    ::shutdown(fd, how);
    int left = 0;
    shut.watched = true;
    shut.unread |= ::ioctl(fd, FIONREAD, &left) == 0 && left > 0;
  }
  return shut;
}

}  // namespace weft::ofi

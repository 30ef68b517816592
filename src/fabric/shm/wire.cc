#include "fabric/shm/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::shm {
namespace {

constexpr std::size_t kMostFds = 4;  // room to see, and close, what nobody asked for

// Keeps the first descriptor that came along and closes the rest.
UniqueFd take_descriptors(msghdr& header) {
  UniqueFd first;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      UniqueFd taken(fd);
      if (!first) first = std::move(taken);
    }
  }
  return first;
}

bool well_formed(const Notice& notice, ssize_t length) {
  const auto size = static_cast<std::size_t>(length);
  return size >= kNoticeHead && notice.magic == Notice::kMagic &&
         notice.version == kLayoutVersion && notice.released <= Notice::kMostReleased &&
         size == kNoticeHead + notice.released * sizeof notice.released_segments[0];
}

}  // namespace

bool send_notice(int socket, const Notice& notice, int fd) {
  iovec piece{const_cast<Notice*>(&notice),
              kNoticeHead + notice.released * sizeof notice.released_segments[0]};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

Received receive_notice(int socket) {
  Received received;
  iovec piece{&received.notice, sizeof received.notice};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  msghdr header{};
  ssize_t length;
  do {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    length = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // A peer that closed with our notice unread leaves ECONNRESET, once, before its last words.
  } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return received;
  received.memory = take_descriptors(header);
  if (length <= 0) {
    received.what = Received::What::kEnd;
  } else if (header.msg_flags & MSG_TRUNC || !well_formed(received.notice, length)) {
    received.what = Received::What::kNonsense;
  } else {
    received.what = Received::What::kNotice;
  }
  return received;
}

bool same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == ::geteuid();
}

}  // namespace weft::shm

#include "fabric/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace weft {
namespace {

LiveFd spare_descriptor() {
  return LiveFd([] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
}

}  // namespace

Acceptor::Acceptor(LiveFd listener) : listener_(std::move(listener)), spare_(spare_descriptor()) {}

LiveFd Acceptor::accept() {
  LiveFd socket([this] {
    return ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  });
  if (!socket && (errno == EMFILE || errno == ENFILE)) turn_away();
  return socket;
}

void Acceptor::turn_away() {
  spare_ = LiveFd();
  LiveFd refused([this] { return ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC); });
  refused = LiveFd();
  spare_ = spare_descriptor();
}

}  // namespace weft

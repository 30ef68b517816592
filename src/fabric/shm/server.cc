#include "fabric/shm/server.h"

#include <sys/socket.h>

#include "base/errno_text.h"
#include "fabric/shm/address.h"
#include "weft/error.h"

namespace weft::shm {

namespace {

// Throws Unsupported if the system has no socket for it.
LiveFd listen_at(const Token& token) {
  LiveFd socket([] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  const auto [name, length] = socket_of(token);
  const int fd = socket.get();
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
      ::listen(fd, SOMAXCONN) != 0) {
    throw Unsupported("shm: cannot listen for peers, " + errno_text("Unix socket"));
  }
  return socket;
}

}  // namespace

Server::Server(const Token& token, std::shared_ptr<Segments> segments, Watcher& watcher)
    : token_(token),
      segments_(std::move(segments)),
      visitors_(
          "shm", listen_at(token), watcher, false,
          [](Client& client, LiveFd socket) {
            client.socket = std::move(socket);
            return same_user(client.socket.get());
          },
          [this](Client& client) { return serve(client); }) {}

bool Server::serve(Client& client) {
  const Received received = receive_notice(client.socket.get());
  if (received.what == Received::What::kNothing) return true;
  return received.what == Received::What::kNotice && answer(client, received);
}

bool Server::answer(Client& client, const Received& received) {
  switch (received.notice.kind) {
    case Kind::kHello:
      client.greeted = true;
      visitors_.set_known(client.socket.get());
      return send_notice(client.socket.get(), notice(Kind::kWelcome));
    case Kind::kAsk:
      return client.greeted && give(client, received.notice.segment);
    default:
      return false;
  }
}

bool Server::give(Client& client, std::uint32_t id) {
  const auto segment = segments_->find(id);
  Notice reply = notice(segment ? Kind::kGive : Kind::kGone);
  reply.segment = id;
  if (!segment) return send_notice(client.socket.get(), reply);
  reply.bytes = segment->mapping->bytes();
  reply.offset = segment->memory.offset;
  for (auto each = client.given.begin(); each != client.given.end();) {
    if (segments_->find(*each) || reply.released == Notice::kMostReleased) {
      ++each;
    } else {
      reply.released_segments[reply.released++] = *each;
      each = client.given.erase(each);
    }
  }
  client.given.insert(id);
  return send_notice(client.socket.get(), reply, segment->memory.file->get());
}

Notice Server::notice(Kind kind) const {
  Notice notice;
  notice.kind = kind;
  notice.token = token_;
  return notice;
}

void Server::goodbye() {
  visitors_.for_each([this](int fd, Client&) { (void)send_notice(fd, notice(Kind::kBye)); });
}

}  // namespace weft::shm

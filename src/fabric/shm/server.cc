#include "fabric/shm/server.h"

#include <sys/socket.h>

#include "base/errno_text.h"
#include "fabric/shm/address.h"
#include "weft/error.h"

namespace weft::shm {

Server::Server(const Token& token, std::shared_ptr<Segments> segments, Watcher& watcher)
    : token_(token),
      segments_(std::move(segments)),
      watcher_(watcher),
      acceptor_(LiveFd(
          [] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); })),
      strangers_(watcher, Strangers::kMost, [this](int fd) { drop(fd); }) {
  const auto [name, length] = socket_of(token_);
  const int listener = acceptor_.fd();
  if (listener < 0 || ::bind(listener, reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
      ::listen(listener, SOMAXCONN) != 0 || !watcher_.watch(listener, [this] { accept(); })) {
    throw Unsupported("shm: cannot listen for peers, " + errno_text("Unix socket"));
  }
}

void Server::accept() {
  LiveFd socket = acceptor_.accept();
  if (!socket || !same_user(socket.get())) return;
  const int fd = socket.get();
  Client& client = clients_[fd];
  client.socket = std::move(socket);
  if (watcher_.watch(fd, [this, &client] { serve(client); })) {
    strangers_.add(fd);
  } else {
    clients_.erase(fd);
  }
}

void Server::drop(int fd) {
  watcher_.forget(fd);
  strangers_.forget(fd);
  clients_.erase(fd);
}

void Server::serve(Client& client) {
  const Received received = receive_message(client.socket.get());
  if (received.what == Received::What::kNothing) return;
  if (received.what == Received::What::kMessage && answer(client, received)) return;
  // It left, or talks nonsense: either way there is nobody to serve.
  drop(client.socket.get());
}

bool Server::answer(Client& client, const Received& received) {
  switch (received.message.kind) {
    case Kind::kHello:
      client.greeted = true;
      strangers_.forget(client.socket.get());
      return send_message(client.socket.get(), message(Kind::kWelcome));
    case Kind::kAsk:
      return client.greeted && give(client, received.message.segment);
    default:
      return false;
  }
}

bool Server::give(Client& client, std::uint32_t id) {
  const auto segment = segments_->find(id);
  Message reply = message(segment ? Kind::kGive : Kind::kGone);
  reply.segment = id;
  if (!segment) return send_message(client.socket.get(), reply);
  reply.bytes = segment->mapping->bytes();
  reply.offset = segment->memory.offset;
  for (auto each = client.given.begin(); each != client.given.end();) {
    if (segments_->find(*each) || reply.released == Message::kMostReleased) {
      ++each;
    } else {
      reply.released_segments[reply.released++] = *each;
      each = client.given.erase(each);
    }
  }
  client.given.insert(id);
  return send_message(client.socket.get(), reply, segment->memory.file->get());
}

Message Server::message(Kind kind) const {
  Message message;
  message.kind = kind;
  message.token = token_;
  return message;
}

void Server::goodbye() {
  for (const auto& [fd, client] : clients_) (void)send_message(fd, message(Kind::kBye));
}

}  // namespace weft::shm

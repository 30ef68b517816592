#include "fabric/ofi/session/server.h"

#include "fabric/ofi/session/address.h"
#include "weft/error.h"

namespace weft::ofi {

Server::Server(const Token& token, Secret secret, LiveFd listener, std::shared_ptr<Lanes> lanes,
               Find find, Watcher& watcher)
    : token_(token),
      secret_(std::move(secret)),
      lanes_(std::move(lanes)),
      find_(std::move(find)),
      visitors_(
          "ofi", std::move(listener), watcher, secret_.given(),
          [](Client& client, LiveFd socket) {
            tune(socket.get());
            client.talk = Talk(std::move(socket));
            return true;
          },
          [this](Client& client) { return serve(client); }) {}

bool Server::serve(Client& client) {
  for (;;) {
    Message message;
    const Talk::What what = client.talk.receive(message);
    if (what == Talk::What::kNothing) return true;
    const auto heard = [&] {
      return client.proved         ? answer(client, message)
             : client.ours.empty() ? greet(client, message)
                                   : prove(client, message);
    };
    if (what != Talk::What::kMessage || !heard()) return false;
  }
}

bool Server::greet(Client& client, const Message& message) {
  if (message.head.kind != Kind::kHello || message.head.to != token_) return false;
  client.token = message.head.from;
  client.theirs = message.text;
  client.ours = Token::random().hex();
  if (secret_.given())
    visitors_.set_named(client.talk.fd());
  else
    visitors_.set_known(client.talk.fd());
  return reply(
      client, Kind::kWelcome, 0, 0,
      client.ours + secret_.sign({"listener", client.token.hex(), client.theirs, client.ours}));
}

bool Server::prove(Client& client, const Message& message) {
  if (message.head.kind != Kind::kProof || message.head.from != client.token) return false;
  client.proved =
      secret_.signed_by(message.text, {"dialler", token_.hex(), client.theirs, client.ours});
  if (client.proved) visitors_.set_known(client.talk.fd());
  return client.proved;
}

bool Server::answer(Client& client, const Message& message) {
  const Message::Head& head = message.head;
  if (head.from != client.token) return false;
  const std::shared_ptr<Remote> peer = find_(client.token);
  switch (head.kind) {
    case Kind::kAsk:
      return peer && give(client, *peer, message);
    case Kind::kGone:
      if (peer) peer->mirrors().drop(head.subject);
      return true;
    case Kind::kProgress:
      return reply(client, head.kind, head.subject, lanes_->last_entered(head.subject));
    case Kind::kBar:
      lanes_->bar(head.subject, client.token);
      // After that, so that nothing passes between.
      return reply(client, head.kind, head.subject, peer ? peer->sent() : 0);
    case Kind::kAbort:
      lanes_->take_abort(head.subject, client.token, head.base, message.text);
      return true;
    case Kind::kBye:
      // Of whom nothing is known here, nothing was to come.
      if (!peer) return reply(client, Kind::kDone, 0, 0);
      peer->hear_bye(head.base);
      return true;
    case Kind::kDone:
      if (peer) peer->hear_done();
      return true;
    default:
      return false;
  }
}

bool Server::give(Client& client, Remote& peer, const Message& message) {
  try {
    const auto mirror = peer.mirrors().make(message.head.subject, message.head.base);
    const Target& target = mirror->target();
    return reply(client, Kind::kGive, message.head.subject, target.base, text_of(target.keys));
  } catch (const Error&) {  // no memory: the peer sees its connection end
    return false;
  }
}

bool Server::reply(Client& client, Kind kind, std::uint32_t subject, std::uint64_t base,
                   const std::string& text) {
  Message message;
  message.head.kind = kind;
  message.head.from = token_;
  message.head.to = client.token;
  message.head.subject = subject;
  message.head.base = base;
  message.text = text;
  return client.talk.send(message);
}

}  // namespace weft::ofi

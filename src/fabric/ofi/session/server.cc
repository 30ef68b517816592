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
    Notice notice;
    const Talk::What what = client.talk.receive(notice);
    if (what == Talk::What::kNothing) return true;
    const auto heard = [&] {
      return client.proved         ? answer(client, notice)
             : client.ours.empty() ? greet(client, notice)
                                   : prove(client, notice);
    };
    if (what != Talk::What::kNotice || !heard()) return false;
  }
}

bool Server::greet(Client& client, const Notice& notice) {
  if (notice.head.kind != Kind::kHello || notice.head.to != token_) return false;
  client.token = notice.head.from;
  client.theirs = notice.text;
  client.ours = Token::random().hex();
  if (secret_.given())
    visitors_.set_named(client.talk.fd());
  else
    visitors_.set_known(client.talk.fd());
  return reply(
      client, Kind::kWelcome, 0, 0,
      client.ours + secret_.sign({"listener", client.token.hex(), client.theirs, client.ours}));
}

bool Server::prove(Client& client, const Notice& notice) {
  if (notice.head.kind != Kind::kProof || notice.head.from != client.token) return false;
  client.proved =
      secret_.signed_by(notice.text, {"dialler", token_.hex(), client.theirs, client.ours});
  if (client.proved) visitors_.set_known(client.talk.fd());
  return client.proved;
}

bool Server::answer(Client& client, const Notice& notice) {
  const Notice::Head& head = notice.head;
  if (head.from != client.token) return false;
  const std::shared_ptr<Remote> peer = find_(client.token);
  switch (head.kind) {
    case Kind::kAsk:
      return peer && give(client, *peer, notice);
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
      lanes_->take_abort(head.subject, client.token, head.base, notice.text);
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

bool Server::give(Client& client, Remote& peer, const Notice& notice) {
  try {
    const auto mirror = peer.mirrors().make(notice.head.subject, notice.head.base);
    const Target& target = mirror->target();
    return reply(client, Kind::kGive, notice.head.subject, target.base, text_of(target.keys));
  } catch (const Error&) {  // no memory: the peer sees its connection end
    return false;
  }
}

bool Server::reply(Client& client, Kind kind, std::uint32_t subject, std::uint64_t base,
                   const std::string& text) {
  Notice notice;
  notice.head.kind = kind;
  notice.head.from = token_;
  notice.head.to = client.token;
  notice.head.subject = subject;
  notice.head.base = base;
  notice.text = text;
  return client.talk.send(notice);
}

}  // namespace weft::ofi

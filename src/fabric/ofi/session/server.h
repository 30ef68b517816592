// The listening half of a fabric: what peers ask for and tell it beside the data.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "fabric/acceptor.h"
#include "fabric/ofi/session/lanes.h"
#include "fabric/ofi/session/message.h"
#include "fabric/ofi/session/remote.h"
#include "fabric/ofi/session/secret.h"
#include "fabric/strangers.h"
#include "fabric/watcher.h"

namespace weft::ofi {

// Works on the watcher's thread only; construct before it watches, destroy after it has stopped.
class Server {
 public:
  // The Remote of the peer with this name, or null.
  using Find = std::function<std::shared_ptr<Remote>(const Token&)>;

  // Listens at `listener`. Throws Unsupported if it cannot be watched.
  Server(const Token& token, Secret secret, LiveFd listener, std::shared_ptr<Lanes> lanes,
         Find find, Watcher& watcher);

 private:
  struct Client {
    Talk talk;
    Token token = {};
    std::string theirs, ours;  // random numbers, once it has said who it is
    bool proved = false;
  };

  void accept();
  void serve(Client& client);
  void drop(int fd);
  bool greet(Client& client, const Message& message);
  bool prove(Client& client, const Message& message);
  bool answer(Client& client, const Message& message);
  bool give(Client& client, Remote& peer, const Message& message);
  bool reply(Client& client, Kind kind, std::uint32_t subject, std::uint64_t base,
             const std::string& text = {});

  const Token token_;
  const Secret secret_;
  Acceptor acceptor_;
  const std::shared_ptr<Lanes> lanes_;
  const Find find_;
  Watcher& watcher_;
  // Those that have not named this fabric, and those that have and must prove that they know the
  // secret: a job with one, whose ranks have several connections each, fits into a quarter.
  Strangers strangers_, unproved_;
  std::unordered_map<int, Client> clients_;
};

}  // namespace weft::ofi

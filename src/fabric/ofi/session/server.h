// The listening half of a fabric: what peers ask for and tell it beside the data.
#pragma once

#include <functional>
#include <memory>

#include "fabric/ofi/session/lanes.h"
#include "fabric/ofi/session/notice.h"
#include "fabric/ofi/session/remote.h"
#include "fabric/ofi/session/secret.h"
#include "fabric/visitors.h"

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

  bool serve(Client& client);
  bool greet(Client& client, const Notice& notice);
  bool prove(Client& client, const Notice& notice);
  bool answer(Client& client, const Notice& notice);
  bool give(Client& client, Remote& peer, const Notice& notice);
  bool reply(Client& client, Kind kind, std::uint32_t subject, std::uint64_t base,
             const std::string& text = {});

  const Token token_;
  const Secret secret_;
  const std::shared_ptr<Lanes> lanes_;
  const Find find_;
  // With a secret a visitor that has named this fabric is known once it has proved that it knows
  // the secret. A job whose ranks have several connections each fits into a quarter of descriptors.
  Visitors<Client> visitors_;
};

}  // namespace weft::ofi

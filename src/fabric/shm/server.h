// The listening half of a fabric: answers peers who ask for its segments.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "fabric/process.h"
#include "fabric/segments.h"
#include "fabric/shm/wire.h"
#include "fabric/token.h"
#include "fabric/visitors.h"

namespace weft::shm {

// Works on the watcher's thread only; construct before it watches, and call goodbye() and
// the destructor after it has stopped.
class Server {
 public:
  // Listens at the socket named by `token`. Throws Unsupported if it cannot.
  Server(const Token& token, std::shared_ptr<Segments> segments, Watcher& watcher);

  // Tells all who have dialled that this fabric leaves of its own will.
  void goodbye();

 private:
  struct Client {
    LiveFd socket;
    bool greeted = false;
    std::set<std::uint32_t> given;  // segments it may have mapped
  };

  bool serve(Client& client);
  bool answer(Client& client, const Received& received);
  bool give(Client& client, std::uint32_t id);
  Notice notice(Kind kind) const;

  Token token_;
  std::shared_ptr<Segments> segments_;
  Visitors<Client> visitors_;
};

}  // namespace weft::shm

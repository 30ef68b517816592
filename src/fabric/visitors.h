// The listening half of a session: peers' connections to this fabric, and the strangers among them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/errno_text.h"
#include "fabric/acceptor.h"
#include "fabric/strangers.h"
#include "fabric/watcher.h"
#include "weft/error.h"

namespace weft {

// Connections come in three stages. A stranger has said nothing right. A named visitor has said the
// name of this fabric. A known visitor has said everything that the fabric asks for. The first two
// are bounded in number and in time.
//
// Works on the watcher's thread only; construct it before it watches, destroy it after it stopped.
// `Client` is what the fabric keeps of a connection; a new one is given its socket by `admit`.
template <typename Client>
class Visitors {
 public:
  // False: this connection is closed at once.
  using Admit = std::function<bool(Client&, LiveFd socket)>;
  // There is something to read. False: the connection is closed.
  using Serve = std::function<bool(Client&)>;

  // `listener` listens already. `asks_more`: visitors may be named and not yet known. Throws
  // Unsupported, in the words of `fabric`, if the system cannot watch it.
  Visitors(const std::string& fabric, LiveFd listener, Watcher& watcher, bool asks_more,
           Admit admit, Serve serve)
      : acceptor_(std::move(listener)),
        watcher_(watcher),
        admit_(std::move(admit)),
        serve_(std::move(serve)),
        strangers_(watcher, Strangers::kMost, [this](int fd) { drop(fd); }) {
    if (asks_more) named_.emplace(watcher, quarter_of_descriptors(), [this](int fd) { drop(fd); });
    if (!watcher_.watch(acceptor_.fd(), [this] { accept(); }))
      throw Unsupported(fabric + ": cannot listen for peers, " + errno_text("epoll_ctl"));
  }

  void set_named(int fd) {
    strangers_.forget(fd);
    named_->add(fd);
  }
  void set_known(int fd) {
    strangers_.forget(fd);
    if (named_) named_->forget(fd);
  }

  template <typename Each>
  void for_each(Each each) {
    for (auto& [fd, client] : clients_) each(fd, client);
  }

 private:
  void accept() {
    LiveFd socket = acceptor_.accept();
    if (!socket) return;
    const int fd = socket.get();
    Client& client = clients_[fd];
    const bool watched =
        admit_(client, std::move(socket)) && watcher_.watch(fd, [this, fd, &client] {
          // It left, or talks nonsense: the connection is closed in both cases.
          if (!serve_(client)) drop(fd);
        });
    if (watched) {
      strangers_.add(fd);
    } else {
      clients_.erase(fd);
    }
  }

  void drop(int fd) {
    watcher_.forget(fd);
    set_known(fd);
    clients_.erase(fd);
  }

  Acceptor acceptor_;
  Watcher& watcher_;
  const Admit admit_;
  const Serve serve_;
  Strangers strangers_;
  std::optional<Strangers> named_;
  std::unordered_map<int, Client> clients_;
};

}  // namespace weft

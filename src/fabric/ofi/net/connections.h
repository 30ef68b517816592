// The TCP connections that libfabric's tcp provider has made. It has no call that ends one, and
// what a connection has begun to write it goes on writing, whatever is deregistered.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace weft::ofi {

// Shuts the connections that an endpoint has dialled to a peer. Also shuts those that it has
// accepted from the peer's host: nothing tells to which rank there they belong. `own` and `peer`
// are the names of the endpoints, which are socket addresses. `waits` is the descriptor by which
// one waits for `own`: an epoll that watches its connections, and none of another endpoint of this
// process. `how` is shutdown's.
struct Shut {
  bool watched = false;  // libfabric has not yet read the end of one of them
  bool unread = false;   // one of those holds something to be read
};
Shut shut_connections(int waits, const std::string& own, const std::string& peer, int how);

// Looks at the connections that the endpoint of this name has accepted and to which it has answered
// nothing. Shuts those that have been silent for `patience`, and all but the `most` that spoke or
// came last.
// libfabric then closes them. Returns how many there were.
std::size_t shut_unanswered(const std::string& own, std::size_t most,
                            std::chrono::milliseconds patience);

}  // namespace weft::ofi

// The TCP connections that libfabric's tcp provider has made. It has no call that ends one, and
// what a connection has begun to write it goes on writing, whatever is deregistered.
#pragma once

#include <string>

namespace weft::ofi {

// By endpoints' names, which are socket addresses: shuts the connections that `own` has dialled to
// `peer`, and those from the peer's host that `own` has accepted, whose other ends tell nothing
// else. True if one of them still holds something to be read.
bool shut_connections(const std::string& own, const std::string& peer);

}  // namespace weft::ofi

// The address that a fabric gives its peers through the rendezvous store, and the TCP connections
// by which they meet.
//
//   ofi 3 <token> <pid> <host> <provider> <address> <port> <names of its rails: hexadecimal,...>
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/ofi/net/provider.h"
#include "fabric/process.h"
#include "fabric/token.h"

namespace weft::ofi {

struct Address {
  std::uint32_t version = 0;  // kWireVersion of the writer
  Token token;
  std::int64_t pid = 0;
  std::string host;
  std::string provider;
  std::string ip;
  std::uint16_t port = 0;
  std::vector<std::string> rails;  // libfabric's names, any bytes

  // Throws InvalidArgument saying what is wrong with `text`.
  static Address parse(std::string_view text);
  std::string text() const;

  // "process 4711 died (on host alpha, 192.0.2.2:4001)", or whatever else became of it.
  std::string process(const std::string& fate = {}) const;
  // Why `peer` cannot be reached from here, and the remedy; empty if nothing speaks against it.
  std::string obstacle(const Address& peer) const;
};

// Listens at a port of its own at `ip`, and nowhere else. Throws Unsupported.
LiveFd listen_at(const std::string& ip);
std::uint16_t port_of(int socket);
// Connects. An unusable descriptor: nobody listens there. Throws Timeout, PeerLost (no way there);
// each with the address.
LiveFd connect_to(const Address& peer, Clock::time_point deadline);
// Sends small messages at once, and notices within a quarter of a minute that the way to the
// peer is cut.
void tune(int socket);

}  // namespace weft::ofi

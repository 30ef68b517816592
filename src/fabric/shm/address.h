// The address that a fabric gives its peers through the rendezvous store.
//
//   shm 1 <token> <pid> <uid> <boot id> <net namespace> <host name>
//
// WEFT_NODE makes part of boot id and host name, where it is set.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "fabric/token.h"

namespace weft::shm {

struct Address {
  std::uint32_t version = 0;  // kLayoutVersion of the writer
  Token token;
  std::int64_t pid = 0;   // as its own process sees it
  std::uint32_t uid = 0;  // outside of its user namespace
  std::string boot;
  std::uint64_t net_namespace = 0;
  std::string host;

  // This process's, for a fabric named `token`. `node`: like WEFT_NODE, unless empty.
  static Address own(const Token& token, const std::string& node = {});
  // Throws InvalidArgument saying what is wrong with `text`.
  static Address parse(std::string_view text);
  std::string text() const;

  // "process 4711 on host alpha"
  std::string process() const;
  // Why `peer` cannot be reached from here by shared memory, and the remedy; empty if it can.
  std::string obstacle(const Address& peer) const;
};

// The abstract Unix socket that the fabric named `token` listens at: no file anywhere.
std::pair<sockaddr_un, socklen_t> socket_of(const Token& token);

}  // namespace weft::shm

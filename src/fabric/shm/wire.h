// The notices that two fabrics send each other over their socket.
//
// The dialler asks, the listener answers; each pair has a socket each way, so neither
// waits for the other to dial.
//
//   dialler               listener
//   kHello          →
//                   ←     kWelcome
//   kAsk segment    →
//                   ←     kGive segment, bytes, memory   or   kGone segment
//                   ←     kBye        the listener's fabric is being destroyed
//
// One notice is one packet of a SOCK_SEQPACKET socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.h"
#include "fabric/shm/layout.h"
#include "fabric/token.h"

namespace weft::shm {

enum class Kind : std::uint16_t { kHello = 1, kWelcome, kAsk, kGive, kGone, kBye };

struct Notice {
  static constexpr std::uint32_t kMagic = 0x74666577;  // "weft"
  static constexpr std::size_t kMostReleased = 256;

  std::uint32_t magic = kMagic;
  std::uint16_t version = kLayoutVersion;
  Kind kind = Kind::kHello;
  Token token = {};            // the sender's
  std::uint32_t segment = 0;   // kAsk, kGive, kGone
  std::uint32_t released = 0;  // kGive: so many of the following are set
  std::uint64_t bytes = 0;     // kGive: length of the segment
  std::uint64_t offset = 0;    // kGive: where it begins in the memory that comes along
  // Segments that were given over this connection and have been released since.
  std::array<std::uint32_t, kMostReleased> released_segments = {};
};
inline constexpr std::size_t kNoticeHead = offsetof(Notice, released_segments);
static_assert(kNoticeHead == 48);

// Sends without blocking, with the memory `fd` unless it is -1. False: the peer is gone, or
// does not read.
bool send_notice(int socket, const Notice& notice, int fd = -1);

struct Received {
  enum class What { kNothing, kNotice, kEnd, kNonsense };
  What what = What::kNothing;
  Notice notice;
  UniqueFd memory;
};
// Takes the next notice without blocking.
Received receive_notice(int socket);

// True if the process at the other end runs as the same user as this one.
bool same_user(int socket);

}  // namespace weft::shm

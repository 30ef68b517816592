// The notices that two fabrics send each other beside the data. They go over a TCP connection. Its
// end tells of a peer's death at once. It is read even while neither rank is in a call.
//
// The dialler asks, the listener answers; each pair has a connection each way.
//
//   dialler                          listener
//   kHello, a random number       →
//                                 ←  kWelcome, another, signed both with the job's secret
//   kProof, signed both           →                 only now is it answered
//   kAsk segment, bytes           →                 "I shall send from it: make a copy"
//                                 ←  kGive segment, base, the keys of all rails
//   kGone segment                 →                 "I shall send no more from it"
//   kProgress pair                →                 "where is the lane that you gave that number?"
//                                 ←  kProgress base = its last collective
//   kBar pair                     →                 "deliver nothing more from that lane"
//                                 ←  kBar base = packets and writes it has sent us by then
//   kAbort pair, text, base       →                 "... which I did after I had sent you so many"
//   kBye base = packets, writes   →                 "this fabric leaves; it has sent you so many"
//   kDone                         →  or  ←          from the one that got a bye: it has them all
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/ofi/net/packet.h"
#include "fabric/process.h"
#include "fabric/token.h"

namespace weft::ofi {

enum class Kind : std::uint16_t {
  kHello = 1,
  kWelcome,
  kProof,
  kAsk,
  kGive,
  kGone,
  kProgress,
  kBar,
  kAbort,
  kBye,
  kDone
};

struct Notice {
  static constexpr std::uint32_t kMagic = 0x74666577;  // "weft"
  static constexpr std::size_t kMostText = 1000;

  struct Head {
    std::uint32_t magic = kMagic;
    std::uint16_t version = kWireVersion;
    Kind kind = Kind::kHello;
    Token from = {};            // the sender's fabric
    Token to = {};              // kHello: the fabric that it means to reach
    std::uint32_t subject = 0;  // a segment or a pair
    std::uint32_t text = 0;     // bytes that follow
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;  // kAsk: of the segment
  } head;
  std::string text;
};
static_assert(sizeof(Notice::Head) == 64);

// One end of a connection. Thread safe, except receive().
class Talk {
 public:
  Talk() = default;
  explicit Talk(LiveFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  // Without blocking. False: the peer is gone, or has not read for long.
  bool send(const Notice& notice);

  enum class What { kNothing, kNotice, kEnd, kCut, kNonsense };
  // Takes the next notice without blocking. kCut: nothing came of what was sent there for long.
  What receive(Notice& notice);

 private:
  LiveFd socket_;
  std::string unread_;
};

}  // namespace weft::ofi

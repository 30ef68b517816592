// What MPI and OpenSHMEM do differently: how mail and payloads of one lane get to one peer and
// back. lane.h does the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "fabric/fabric.h"
#include "weft/error.h"

namespace weft::mail {

// A message with its payload of up to kInlineBytes, or news of the lane.
struct Mail {
  enum class Kind : std::uint32_t { kHello, kMessage, kCredit, kAsk, kTell, kAbort, kFarewell };
  Kind kind = Kind::kHello;
  std::int32_t channel = 0;
  std::uint64_t credited = 0;  // messages of the receiver on this channel
  std::uint64_t place = 0;     // of a longer payload, see Line::place_of(); or what is told
  Header header{};             // bytes: also the length of an abort's text
  std::array<std::byte, kInlineBytes> inlined{};
};
inline constexpr std::size_t kMailHead = offsetof(Mail, inlined);

// The way of one lane to one peer, and back. Mail keeps its order, and so do payloads. A payload
// belongs to the mail before it. No call waits for the peer. Calls hold the mutex of Lines.
class Line {
 public:
  // Memory that the library may still use is left to it.
  virtual ~Line() = default;

  // The peer's lane has this number, see Lines::claim(). To be called before anything is sent.
  virtual void join(std::uint64_t number) = 0;
  // Sends the head and `inlined` bytes of the payload. Copies them. `awaited`: idle() waits until
  // the peer has taken it, on lines where nothing else says that it has arrived.
  virtual void send(const Mail& mail, std::size_t inlined, bool awaited) = 0;
  // Where the peer itself can load [data, data + bytes); 0: nowhere, the payload has to be sent.
  virtual std::uint64_t place_of(const std::byte* data, std::size_t bytes) const {
    (void)data, (void)bytes;
    return 0;
  }
  // `data` stays as it is until the payload is among those that are sent().
  virtual void send_payload(const std::byte* data, std::size_t bytes) = 0;
  // How many payloads are sent: the first ones.
  virtual std::uint64_t sent() = 0;
  // No payload and no mail that is awaited still waits for anything here.
  virtual bool idle() = 0;

  // The mail that has come next, valid until the next call; null: none is here.
  virtual const Mail* next() = 0;
  // The address of the peer's place. Throws InternalError if it is none.
  virtual const std::byte* reach(std::uint64_t place, std::size_t bytes) {
    (void)bytes;
    throw InternalError("a payload is said to lie at " + std::to_string(place));
  }
  // The payload of the last mail is to come to `into`, which is the library's until it is received.
  virtual void receive(std::byte* into, std::size_t bytes) = 0;
  // How many payloads are here: the first ones.
  virtual std::uint64_t received() = 0;
};

// The lines of one rank. Calls hold the mutex.
class Lines {
 public:
  // `mutex`: of the library, which one thread at a time calls, so that it need not be thread safe.
  explicit Lines(std::mutex& mutex) : mutex(mutex) {}
  virtual ~Lines() = default;

  std::mutex& mutex;

  // Neither in a forked child, nor once the program has finalised the library.
  virtual bool may_call() const = 0;
  // A lane with so many members begins. The number says to its members which one it is. Throws
  // Unsupported if there is no room for it.
  virtual std::uint64_t claim(std::size_t members) = 0;
  virtual void give_back(std::uint64_t number) = 0;
  // Whether a member may have said this number.
  virtual bool is_number(std::uint64_t number, std::size_t members) const = 0;
  // The line to `rank`, which is the member at `place` of lane `number`; the own place is `me`.
  virtual std::unique_ptr<Line> open(std::uint64_t number, int rank, int place, int me) = 0;
  // Lets what is on its way go on.
  virtual void progress() {}
  // For messages to people: "rank 3 of the MPI job".
  virtual std::string describe(int rank) const = 0;
};

}  // namespace weft::mail

// What a way to move bytes must offer. The engine knows fabrics only through this
// file; one folder implements one fabric, and tests/conformance holds them all to it.
//
// A Fabric is one rank's access to its peers: connections, symmetric memory, a
// doorbell to sleep at. An Endpoint is one lane of one communicator: numbered
// messages between its members. Several ranks may live in one process, each with a
// Fabric of its own; nothing is global.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/plan.h"
#include "weft/types.h"

namespace weft {

using Clock = std::chrono::steady_clock;

// A place in some process's symmetric memory. Good in every communicator of both.
struct Location {
  std::uint64_t bits = 0;  // segment << 40 | offset; segments count from 1, so 0 is nowhere
  explicit operator bool() const { return bits != 0; }
  Location operator+(std::size_t bytes) const { return {bits + bytes}; }
};

// What every message says of the call that it belongs to. The receiver compares it
// before it uses any payload.
struct Signature {
  std::uint64_t count =
      0;  // elements, as the caller gave them; of the pair's block where counts differ by rank
  std::uint32_t plan = 0;      // digest of the plan's shape
  std::uint32_t sequence = 0;  // number of the collective on its lane
  std::uint8_t collective = 0;
  std::uint8_t dtype = 0;
  std::uint8_t op = 0;
  std::uint8_t reserved = 0;
  std::uint16_t root = 0;
  std::uint16_t scale = 0;  // 16 bits of a hash of the premultiplied sum's factor
  bool operator==(const Signature& other) const {
    using Words = std::array<std::uint64_t, 3>;
    auto a = std::bit_cast<Words>(*this), b = std::bit_cast<Words>(other);
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
  }
};
static_assert(sizeof(Signature) == 24);

// Payloads up to this many bytes travel in the message itself.
inline constexpr std::size_t kInlineBytes = 448;

struct Header {
  Signature signature;
  std::uint32_t bytes = 0;  // of payload
  std::uint16_t delivered = 0;
  // 1: the payload lies in the sender's own buffers, which change once its call has failed.
  std::uint16_t in_place = 0;
  // bytes == 0: the sender's user buffers where they are symmetric, for one-sided access.
  // bytes > kInlineBytes: `input` is where the payload lies: a place of the sender's or, if it
  // is delivered, the bytes before it in the receiver's output. `output` is as above.
  // In between: unused. From a peer that does not load, `output` is kExposed while it lets its own
  // be written into, else nowhere.
  Location input;
  Location output;
};

inline constexpr Location kExposed{~std::uint64_t{0}};

// A message that has arrived. Valid until it is credited.
struct Arrival {
  const Header* header = nullptr;      // null: not here yet
  const std::byte* inlined = nullptr;  // the payload, if it came with the message: one of up to
                                       // kInlineBytes always does
};

// One lane of one communicator. Peers are numbered by their place in the member list;
// the own place is never a peer. Calls on one Endpoint come from one thread at a time
// (the engine's business), except `abort` and `aborted`, which any thread may call.
class Endpoint {
 public:
  // `depth`: messages that a pair may have on their way on a channel. Plans are proved with
  // kMailboxDepth; with more a rank waits less.
  explicit Endpoint(std::uint64_t depth) : depth_(depth) {}
  virtual ~Endpoint() = default;

  std::uint64_t depth() const { return depth_; }

  // Opaque bytes that every member needs from every other, in member order, before
  // the first message. Connecting maps the peers' mailboxes, and returns when every
  // member has done so: one that leaves then fails nobody's connect. Throws PeerLost,
  // Timeout.
  virtual std::string ticket() const = 0;
  virtual void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) = 0;

  // Messages to `peer` on `channel` are numbered from 0. Number n needs room, which the caller
  // has checked: the peer has credited all but depth() - 1 of those before it.
  // `payload` has header.bytes bytes, unless they are delivered to a peer that loads(). More than
  // kInlineBytes of them stay as they are until they are reusable(), and lie at header.input, or,
  // if that is nowhere and the lane carries() so many, anywhere. A peer that loads() reads them
  // there, to any other they are sent, and written into its output if they are delivered.
  // Everything this thread wrote before is visible to a peer that loads(), and sees the message; to
  // any other, the payload.
  virtual void post(int peer, int channel, std::uint64_t number, const Header& header,
                    const void* payload) = 0;
  // Message `number` from `peer`, if it is here.
  virtual Arrival arrival(int peer, int channel, std::uint64_t number) = 0;
  // Tells `peer` that its messages 0 .. total-1 on `channel` are done with.
  virtual void credit(int peer, int channel, std::uint64_t total) = 0;
  // Whether `peer` has credited our messages 0 .. total-1 on `channel`. The last depth() / 4
  // credits may be long in coming, but those of a payload that is not reusable() without.
  virtual bool credited(int peer, int channel, std::uint64_t total) = 0;
  // Whether the place of message `number`'s payload of `bytes` may change: it is credited, or was
  // sent and is not read there.
  virtual bool reusable(int peer, int channel, std::uint64_t number, std::size_t bytes) = 0;
  // Whether message `number` has room in the peer's mailbox.
  bool room(int peer, int channel, std::uint64_t number) {
    return number < depth_ || credited(peer, channel, number - depth_ + 1);
  }

  // Whether payloads of so many bytes for `peer` may lie anywhere in the caller's memory.
  virtual bool carries(int peer, std::size_t bytes) const = 0;
  // Lets peers that do not load deliver into `output`, until it is concealed: then all that they
  // have sent there is here.
  virtual void expose(std::byte* output, std::size_t bytes) = 0;
  virtual void conceal() = 0;
  // Whether payloads of so many bytes may be delivered to `peer`, which has said that it exposes
  // its output.
  virtual bool lands(int peer, std::size_t bytes) const = 0;
  // Around stores into a peer's buffers, for as short as a chunk takes. False: the lane was
  // aborted, and nothing may be stored. A peer whose call has failed waits in recall() for the end.
  virtual bool begin_stores() = 0;
  virtual void end_stores() = 0;
  // Of a lane that was aborted: after it nothing in the caller's memory matters to a peer any more,
  // and none writes there. Takes at most a second, for what is on its way; over a network, a peer
  // that might still write is cut off. False: a peer of this machine stands still inside a store.
  // It may go on at any time: ask again, or Fabric::isolate() what it may be writing to.
  virtual bool recall() = 0;

  // Whether this rank and `peer` load and store each other's symmetric memory. To one that does
  // not, messages never say where user buffers lie.
  virtual bool loads(int peer) const = 0;
  // The address here of `bytes` bytes of the peer's symmetric memory. Maps the segment
  // at first use. Throws PeerLost if the peer is gone and the segment was never mapped.
  // Of a peer that does not load: the address of a copy, which holds the payloads of the messages
  // that have arrived and are not credited, and nothing else.
  virtual std::byte* reach(int peer, Location where, std::size_t bytes) = 0;
  // A peer to which something was posted or credited that will not arrive unless calls on this
  // endpoint go on; kNobody: there is none.
  virtual int unsent() = 0;
  static constexpr int kNobody = -1;

  // Progress report, for the message of a stalled peer: the number of the last collective
  // entered here, a plain store; a peer's, if it does not fail to say so within a tenth of a
  // second; and where it runs, "process 4711 on host alpha".
  virtual void entered(std::uint64_t sequence) = 0;
  virtual std::optional<std::uint64_t> last_entered(int peer) = 0;
  virtual std::string whereabouts(int peer) const = 0;

  // Empty while the peer is alive; else why it is not ("its process 4711 died").
  virtual std::string lost(int peer) = 0;

  // Ends the lane for all members: their aborted() becomes `why`. The first call wins.
  virtual void abort(const std::string& why) = 0;
  // True once this lane was aborted here or by a member, or some peer of the fabric
  // is lost: look at why_aborted() and lost(), which acquire what was sent before. One relaxed
  // load.
  virtual bool troubled() const = 0;
  virtual std::string why_aborted() const = 0;  // empty: not aborted

 private:
  const std::uint64_t depth_;
};

// Who fills symmetric memory: the user, or the library (slots, mailboxes).
enum class MemoryUse { kUser, kInternal };

// Memory that peers may read and write.
struct SymmetricBlock {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  Location where;
};

// One rank's fabric. Thread safe.
class Fabric : public std::enable_shared_from_this<Fabric> {
 public:
  virtual ~Fabric() = default;

  virtual std::string_view name() const = 0;
  // Whether this process was forked from the one that made the fabric, whose threads and
  // memory it is: all but this call and its end is refused.
  virtual bool inherited() const = 0;

  // How many messages between two ranks that share no memory go side by side, each on a way of its
  // own. Equal on all ranks.
  virtual int rails() const { return 1; }

  // How peers find this fabric: opaque bytes, printable, under 1 KiB.
  virtual std::string address() const = 0;

  // Why the fabric at `address` cannot be reached from here, and the remedy; empty if nothing
  // speaks against it. All members of a lane find the same groups of those who reach each other.
  virtual std::string obstacle(const std::string& address) const = 0;

  // Opens a lane among the fabrics at `addresses`, this one's own being at `me`. Empty ones are
  // those of members that another fabric serves: nothing is exchanged with them here.
  // Connects to each (once; later lanes reuse the connection). Throws Unsupported
  // naming a member that this fabric cannot reach and why, PeerLost, or Timeout.
  virtual std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                         Clock::time_point deadline) = 0;

  // Symmetric memory, zeroed, aligned to a page. Local: no other rank takes part.
  virtual SymmetricBlock allocate(std::size_t bytes, MemoryUse use = MemoryUse::kUser) = 0;
  // The user's pages go at once: a peer that still maps them reads zeros. Others go with the last
  // mapping, so that a late peer reads what was sent.
  virtual void release(const SymmetricBlock& block) = 0;
  // Where [data, data + bytes) lies in this fabric's symmetric memory, if it does whole and is the
  // user's.
  virtual Location locate(const void* data, std::size_t bytes) const = 0;
  // Of the user's symmetric memory: from now on peers neither see these pages nor write to them,
  // and locate() does not find them. Their content stays. Nothing else may be writing there.
  // False: the system has no memory left for it, and nothing has changed.
  virtual bool isolate(void* data, std::size_t bytes) = 0;

  // The doorbell. A thread with nothing ready calls announce(), looks once more, and
  // if there is still nothing sleeps: until a peer's post or credit to any Endpoint of
  // this fabric, ring(), or 1 ms. retire() takes the announcement back; sleep() does so itself.
  virtual std::uint32_t announce() = 0;
  virtual void sleep(std::uint32_t announced) = 0;
  virtual void retire() = 0;
  virtual void ring() = 0;
};

}  // namespace weft

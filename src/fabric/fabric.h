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
#include <span>
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

// What a message says beside its payload.
struct Header {
  Signature signature;
  std::uint32_t bytes = 0;  // of payload
  std::uint32_t own = 0;    // the fabric's own: how the payload comes
  // Where the sender's buffers lie: given back to this endpoint in reach() and in a Reader, never
  // read by the engine; nowhere: the peer's buffers are of no use here. Not set in a message with a
  // payload of 1 to kInlineBytes bytes.
  Location input;
  Location output;
};

// The caller's buffers of one call.
struct Buffers {
  Location input{}, output{};    // where they are symmetric; else nowhere
  std::span<std::byte> bytes{};  // the output itself
};

// A payload that does not exist yet. It is worked out as it is sent, into both places at once.
class LatePayload {
 public:
  // Writes it where Outgoing::source points to and, unless that is null, to `there` as well. Asks
  // the endpoint whether it is troubled(). Throws Aborted if the lane was aborted and the payload
  // may be wrong for it: then it goes to nobody.
  virtual void write(std::byte* there) = 0;

 protected:
  ~LatePayload() = default;
};

// One reader of a put: what the engine asks for, and how the fabric will do it.
struct Reader {
  int peer = 0;
  std::uint64_t number = 0;  // of the message, see Endpoint::post
  // Where the peer wants the payload: as many bytes into its output, of which it said that it lies
  // there. Set if Outgoing::aimed; nowhere: it has not said so.
  Location output{};
  std::size_t offset = 0;

  // Written by Endpoint::prepare(). What the payload occupies until the message is settled().
  bool holds_source = false;
  bool holds_slot = true;
  bool lent = false;           // the slot, to this reader: it comes back with a message of its own
  bool copied = false;         // post() writes it once, by stage() or store()
  std::uint8_t transfer = 0;   // the fabric's own; 0: from the slot
  std::byte* place = nullptr;  // the fabric's own; where it is stored, if copied and in no slot
};

// What a slot that is lent holds.
inline constexpr std::size_t kLentBytes = std::size_t{64} << 10;

// A piece of this rank's slot memory. While it is `filled` it holds the payload.
struct Slot {
  std::byte* data = nullptr;
  Location where;
  bool filled = false;
  // Its only reader, having credited the message, may write a message to this rank there. Who has
  // just read some lines has them in its caches, so it writes them faster than anybody. Such a slot
  // has kLentBytes.
  bool lend = false;
};

// A message, for one or several readers.
struct Outgoing {
  std::span<Reader> readers{};
  int channel = 0;
  Signature signature{};
  Buffers buffers{};  // of the call that sends it

  const std::byte* source = nullptr;
  // Set: the payload is not at the source yet. For one reader, of an endpoint that takes_late();
  // post() is given it only if that reader's payload is `copied`.
  LatePayload* late = nullptr;
  std::size_t bytes = 0;
  std::size_t whole = 0;  // of the caller's buffer that the source is a part of; 0: unknown
  Location where{};       // of the source, where it is symmetric memory
  bool aimed = false;     // readers want it in their outputs, and nobody may read the source itself
  bool passing = false;   // the source changes once it is posted: no reader may hold it
  Slot* slot = nullptr;   // for bytes > kInlineBytes: one, which all readers share
};

// The payload of a message that has arrived.
struct Delivery {
  const std::byte* data = nullptr;
  std::uint32_t bytes = 0;
  bool in_place = false;  // it lies in the sender's own buffers, which change once its call failed
  bool returned = false;  // it lies in a slot of this rank's, which was lent to the sender
};

enum class Outcome { kDone, kFailed };

// What is said of a peer in messages to people.
struct PeerState {
  std::string process;  // where it runs: "process 4711 on host alpha"
  bool loads = false;   // whether reach() has addresses of its memory
};

// One lane of one communicator: numbered messages between its members.
//
// The engine puts; the fabric delivers. The engine says what is sent, where it lies, where its
// readers want it and which slot it may use meanwhile. The fabric chooses how the payload gets
// there. Slot memory and the knowledge who still reads from it are the engine's.
//
// Peers are numbered by their place in the member list; the own place is never a peer. Messages to
// one peer on one channel are numbered from 0. One thread at a time calls an endpoint, which is the
// engine's business; any thread may call abort(), troubled() and why_aborted(). No call waits,
// unless its description says so.
class Endpoint {
 public:
  static constexpr int kNobody = -1;

  // `depth`: messages that a pair may have on their way on a channel, at least kMailboxDepth, with
  // which plans are proved. With more a rank waits less.
  explicit Endpoint(std::uint64_t depth) : depth_(depth) {}
  virtual ~Endpoint() = default;
  std::uint64_t depth() const { return depth_; }

  // === Meeting ===

  // Opaque bytes that every member needs from every other, in member order, before the first
  // message.
  virtual std::string ticket() const = 0;
  // Returns when all members have connected: one that leaves then fails nobody's connect. Waits
  // until `deadline`. Throws PeerLost, Timeout, each naming the rank; InvalidArgument for tickets
  // that are damaged, of another lane or not one a member.
  virtual void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) = 0;

  // === Sending ===

  // Decides how each reader will get a payload of more than kInlineBytes, and writes it into the
  // readers. Changes nothing else: the engine may ask again, and asks for all readers before it
  // posts to any. Not asked if the slot is filled. As it stands, all payloads go by the slot, which
  // is all that a fabric may do that cannot take back what it began to send. A slot that is to be
  // lent, and of whose reader it does not say `lent` then, is not used so: another is offered.
  virtual void prepare(Outgoing& out) { (void)out; }
  // Whether prepare() may say `copied`, so that it is worth it to leave a payload to post().
  virtual bool takes_late() const { return false; }
  // Sends the message. REQUIRES room() for every reader; of more than kInlineBytes, prepare(), and
  // that nobody uses the slot if some reader holds it. Fills the slot (stage() in delivery.h) if a
  // reader gets the payload from there. A payload that goes into a slot which the reader had lent
  // does not hold this rank's: then holds_slot is false afterwards. When it returns,
  // payloads of up to kInlineBytes and those that are `passing` have been copied; others stay as
  // they are until settled(). What this thread wrote before is visible to a peer that loads(), and
  // sees the message; to any other, the payload. Throws Aborted if the lane was aborted and a
  // payload can therefore no longer be delivered; nothing has then been sent to that reader, or to
  // those after it.
  virtual void post(const Outgoing& out) = 0;
  // Whether message `number` of `bytes` bytes occupies neither source nor slot any more. As it
  // stands: once it is credited.
  virtual bool settled(int peer, int channel, std::uint64_t number, std::size_t bytes) {
    (void)bytes;
    return credited(peer, channel, number + 1);
  }
  // Whether `peer` has credited our messages 0 .. total-1 on `channel`. Credits may be withheld
  // until depth() / 4 are due, unless the sender needs one to use its memory again.
  virtual bool credited(int peer, int channel, std::uint64_t total) = 0;
  // Whether message `number` has room in the peer's mailbox.
  bool room(int peer, int channel, std::uint64_t number) {
    return number < depth_ || credited(peer, channel, number - depth_ + 1);
  }

  // === Receiving ===

  // Message `number` from `peer`; null: it is not here yet. Valid until it is credited.
  virtual const Header* arrival(int peer, int channel, std::uint64_t number) = 0;
  // The payload of a message that has arrived and is not credited. `mine`: the buffers of the call
  // that reads it, in whose output it may lie. Throws PeerLost if the sender is gone, or has failed
  // and released its memory, and took the payload along; InternalError if the message names a place
  // that is none.
  virtual Delivery payload(int peer, int channel, std::uint64_t number, const Buffers& mine) = 0;
  // Tells `peer` that its messages 0 .. total-1 on `channel` are done with.
  virtual void credit(int peer, int channel, std::uint64_t total) = 0;

  // Takes back every slot that was lent and has not come back: afterwards no peer writes there.
  // False: not yet, since one is writing, or has sent a message in a slot of ours that is not
  // credited. Costs microseconds.
  virtual bool recall() { return true; }

  // === A call and its end ===

  // A collective begins. `sequence` is its number, for reports. Until end() peers may write into
  // `written`; empty: into nothing. Point to point has many transfers at a time and begins none.
  virtual void begin(std::uint64_t sequence, std::span<std::byte> written) {
    (void)sequence;
    (void)written;
  }
  // kDone: the member of whom something is still awaited; kNobody: all that was posted arrives
  // without further calls, and no peer writes into what begin() gave. To be called until it is
  // nobody; must not wait.
  // kFailed, of a lane that was aborted: takes back what was begun. After kNobody nothing in the
  // caller's memory matters to any peer, and none writes there. May wait a second for what is on
  // its way. Any other answer: that peer, of this machine, stands still inside a store and may go
  // on at any time; ask again, or Fabric::isolate() what it may be writing to.
  virtual int end(Outcome outcome) = 0;

  // === One-sided: optional ===

  // The address here of `bytes` bytes of the peer's symmetric memory; null: this rank does not load
  // that peer's memory. Throws PeerLost if the peer is gone and this memory was never reached,
  // Error if it lies outside of what the peer allocated.
  virtual std::byte* reach(int peer, Location where, std::size_t bytes) {
    (void)peer, (void)where, (void)bytes;
    return nullptr;
  }
  // After a store into memory that reach() gave: wakes the peer if it sleeps at its doorbell. Any
  // thread.
  virtual void nudge(int peer) { (void)peer; }

  // === Failure ===

  // True once this lane was aborted here or by a member, or some peer of the fabric is lost: look
  // at why_aborted() and lost(), which acquire what was sent before. A hot wait asks it, so it is
  // one relaxed load. Some fabrics learn of trouble only while this rank looks for messages
  // (arrival(), credited()), sleeps, or calls end().
  virtual bool troubled() const = 0;
  virtual std::string why_aborted() const = 0;  // empty: not aborted
  // Empty while the peer is alive; else why it is not ("its process 4711 died").
  virtual std::string lost(int peer) = 0;
  // Ends the lane for all members: their why_aborted() becomes `why`. The first call wins. An abort
  // passes by nothing that was sent before.
  virtual void abort(const std::string& why) = 0;

  // For the message of a stalled peer. Optional.
  virtual PeerState about(int peer) const {
    (void)peer;
    return {};
  }
  // The last sequence that a peer began, if it does not fail to say so within a tenth of a second.
  virtual std::optional<std::uint64_t> last_begun(int peer) {
    (void)peer;
    return std::nullopt;
  }

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

class Natives;  // fabric/natives.h

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

  // Whether slots may be lent here (Slot::lend).
  virtual bool lends() const { return false; }

  // How peers find this fabric: opaque bytes, printable, under 1 KiB.
  virtual std::string address() const = 0;

  // Why the fabric at `address` cannot be reached from here, and the remedy; empty if nothing
  // speaks against it. All members of a lane find the same groups of those who reach each other.
  virtual std::string obstacle(const std::string& address) const = 0;

  // Opens a lane among the fabrics at `addresses`, this one's own being at `me`. Empty ones are
  // those of members that another fabric serves: nothing is exchanged with them here.
  // Connects to each (once; later lanes reuse the connection). Throws Unsupported
  // naming a member that this fabric cannot reach and why, PeerLost, or Timeout. Over a library
  // without connections, Endpoint::connect() finds out that a member is gone.
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

  // Its own collectives. Null: none. Optional.
  virtual Natives* natives() { return nullptr; }

  // The doorbell. A thread with nothing ready calls announce(), looks once more, and
  // if there is still nothing sleeps: until a peer's post or credit to any Endpoint of
  // this fabric, ring(), or 1 ms. retire() takes the announcement back; sleep() does so itself.
  virtual std::uint32_t announce() = 0;
  virtual void sleep(std::uint32_t announced) = 0;
  virtual void retire() = 0;
  virtual void ring() = 0;
  // More ranks than cores: sleeping is cheap from now on, ringing less so. Any thread, any time.
  virtual void expect_crowd() = 0;
};

}  // namespace weft

// One lane over libfabric. Messages are packets into the peer's inboxes, long payloads are written
// into the peer's copy of the segment that they lie in; packet.h draws both.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/ofi/lane/ahead.h"
#include "fabric/ofi/lane/ending.h"
#include "fabric/ofi/lane/incoming.h"
#include "fabric/ofi/lane/reached.h"
#include "fabric/ofi/net/memory.h"
#include "fabric/ofi/session/lanes.h"
#include "fabric/ticket.h"
#include "weft/error.h"

namespace weft::ofi {

// How a payload of more than kInlineBytes goes.
enum class Transfer : std::uint8_t {
  kStaged,  // from a slot: with its message or, if it is too long, into the peer's mirror before it
  kCarried,   // with its message, from the caller's memory. The slot stays empty, and is taken all
              // the same: slots are what keeps a sender from getting further ahead than was proved.
  kDelivered  // from the caller's memory into the peer's output; the slot as above
};

// The shared parts of one fabric.
struct Parts {
  std::shared_ptr<Bell> bell;
  std::shared_ptr<Lanes> lanes;
  std::shared_ptr<Port> port;
  std::shared_ptr<Sources> sources;
};

// Lives on without its fabric: its peers have then left it, and it disturbs nobody.
class OfiEndpoint final : public Endpoint, private LaneReceiver {
 public:
  // `members` in order, null at `me` and for pairs on another fabric.
  OfiEndpoint(Parts parts, const std::vector<std::shared_ptr<Remote>>& members, int me);
  ~OfiEndpoint() override;

  std::string ticket() const override;
  // `tickets` are not read where members are null.
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override;

  void prepare(Outgoing& out) override;
  void post(const Outgoing& out) override;
  bool settled(int peer, int channel, std::uint64_t number, std::size_t bytes) override;
  bool credited(int peer, int channel, std::uint64_t total) override;
  const Header* arrival(int peer, int channel, std::uint64_t number) override;
  Delivery payload(int peer, int channel, std::uint64_t number, const Buffers& mine) override;
  void credit(int peer, int channel, std::uint64_t total) override;

  void begin(std::uint64_t sequence, std::span<std::byte> written) override;
  int end(Outcome outcome) override;

  bool troubled() const override;
  std::string why_aborted() const override;
  std::string lost(int peer) override;
  void abort(const std::string& why) override;
  PeerState about(int peer) const override;
  std::optional<std::uint64_t> last_begun(int peer) override;

 private:
  // One channel of a pair.
  struct ChannelState {
    std::uint64_t due = 0;    // our credits
    std::uint64_t told = 0;   // of them, what the peer was sent
    std::uint64_t bytes = 0;  // of the others
    Ahead posted;             // by us
  };
  struct Peer {
    std::shared_ptr<Remote> remote;
    std::uint32_t pair = 0;  // the peer's number for this lane and us
    Incoming incoming;
    std::atomic<bool> barred{false};  // it is delivered nothing more
    // The lane's thread only.
    std::array<ChannelState, kMaxChannels> channels{};
    Reached reached;
    std::uint32_t asked = 0;  // the last segment that it was asked about
  };

  void take_joined(std::size_t place) override;
  bool take_message(std::size_t place, Arrived& packet) override;
  bool take_write(std::size_t place, int channel, std::uint32_t number) override;
  void take_credit(std::size_t place, int channel, std::uint64_t total) override;
  void take_abort(std::size_t place, std::uint64_t sent, const std::string& why) override;
  void bar(std::size_t place) override;
  std::uint64_t last_entered() const override;

  ChannelState& state_of(int peer, int channel) {
    return at(peer).channels[static_cast<std::size_t>(channel)];
  }
  Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  void send(const Outgoing& out, const Reader& reader);
  void send_long(const Outgoing& out, const Reader& reader, MessagePacket& packet);
  void deliver(const Outgoing& out, const Reader& reader, MessagePacket& packet);
  bool may_deliver(const Outgoing& out, const Reader& reader) const;
  void expose(std::span<std::byte> output);
  // A peer to which something was posted or credited that will not arrive unless calls on this
  // endpoint go on.
  int unsent();
  std::byte* mirrored(int peer, Location where, std::size_t bytes);
  // After it nobody delivers into the exposed output.
  void retract(Clock::time_point until);
  bool may_still_deliver(const Peer& peer) const;
  Payload lies_in_slot(const Outgoing& out);
  Account account(int peer) const { return {unsent_, static_cast<std::size_t>(peer)}; }
  void join_peers(Clock::time_point deadline);
  // False: not until then. Throws PeerLost.
  bool joined_by(std::size_t place, Clock::time_point deadline);
  Timeout late(std::size_t place) const;

  const ForkMark mark_;
  const Parts parts_;
  const int me_;
  const std::shared_ptr<Unsent> unsent_;
  std::vector<Peer> peers_;
  std::uint32_t first_pair_ = 0;
  std::shared_ptr<const Source> source_;  // of the last long message
  std::unique_ptr<const Registration> exposed_;
  mutable Ending ending_;  // an abort may begin to count when it is looked at
  std::atomic<std::uint64_t> entered_{0};
  std::atomic<bool> connected_{false};
};

}  // namespace weft::ofi

// One lane over shared memory. Sends are stores into the peers' segments, receives are
// loads from the own one; layout.h draws them.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fabric/doorbell.h"
#include "fabric/fabric.h"
#include "fabric/process.h"
#include "fabric/segments.h"
#include "fabric/shm/layout.h"
#include "fabric/shm/reached.h"
#include "fabric/shm/returned.h"

namespace weft::shm {

// Lives on without its fabric: it then neither sleeps nor notices losses, but disturbs nobody.
class ShmEndpoint final : public Endpoint {
 public:
  // `members` in order, null at `me` and for pairs on another fabric. `patience` limits
  // every later wait for a peer's memory.
  ShmEndpoint(std::shared_ptr<Segments> segments, std::shared_ptr<Mapping> doorbell,
              const std::vector<std::shared_ptr<Remote>>& members, int me,
              Clock::duration patience);
  ~ShmEndpoint() override;

  std::string ticket() const override;
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override;

  void prepare(Outgoing& out) override;
  bool takes_late() const override { return true; }
  void post(const Outgoing& out) override;
  bool credited(int peer, int channel, std::uint64_t total) override;
  const Header* arrival(int peer, int channel, std::uint64_t number) override;
  Delivery payload(int peer, int channel, std::uint64_t number, const Buffers& mine) override;
  void credit(int peer, int channel, std::uint64_t total) override;
  bool recall() override;

  void begin(std::uint64_t sequence, std::span<std::byte> written) override;
  int end(Outcome outcome) override;
  std::byte* reach(int peer, Location where, std::size_t bytes) override;
  void nudge(int peer) override { ring(*at(peer).bell); }

  bool troubled() const override;
  std::string why_aborted() const override;
  std::string lost(int peer) override;
  void abort(const std::string& why) override;
  PeerState about(int peer) const override;
  std::optional<std::uint64_t> last_begun(int peer) override;

 private:
  // A slot of a peer.
  struct Loan {
    Location where;
    std::uint32_t recalls;  // of the peer when it lent the slot
  };
  struct Peer {
    Inbox* theirs = nullptr;  // what we write: our place in the peer's segment
    Inbox* ours = nullptr;    // what we read: the peer's place in our segment
    Doorbell* bell = nullptr;
    // As last read. The peer writes its count with every credit, so reading it fetches a line from
    // the peer's core. It is read only if the known count is too small.
    std::array<std::uint64_t, kMaxChannels> credits{};
    // Messages of the peer that have been credited, and its slots that came with them.
    std::array<std::uint64_t, kMaxChannels> taken{};
    std::vector<Loan> loans = {};
    LaneSegment* lane = nullptr;
    // Kept as long as this endpoint: abort() writes there, also after the peer has left the lane.
    std::shared_ptr<Mapping> lane_mapping = nullptr;
    Reached reached;
  };

  // Of a payload of more than kInlineBytes.
  void post_long(const Outgoing& out);
  void send(const Outgoing& out, const Reader& reader);
  // Whether a peer's slot was there for it.
  bool send_back(const Outgoing& out, Reader& reader);
  // The slot of a message that this rank has done with, where it may write.
  void borrow(Peer& from, const Entry& entry);
  bool lent_are_in_use() const;
  bool is_returning(const Peer& from) const;
  void fence_stores() const;
  void await_last_stores();
  void map_lane(Peer& peer, Location where, Clock::time_point deadline);
  void await_joined(std::size_t place, Clock::time_point deadline);
  // Whether a member is a peer of ours.
  bool is_peer(std::size_t place) const { return peers_[place].reached.knows_remote(); }
  Peer& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  LaneSegment& lane() const { return *lane_; }
  void record_abort(LaneSegment& lane, const std::string& why) const;
  bool may_store(const Peer& peer) const;
  // A peer that may still store here; kNobody.
  int storing_peer() const;

  const ForkMark mark_;
  const std::shared_ptr<Segments> segments_;
  const std::shared_ptr<Mapping> doorbell_;
  const SymmetricBlock block_;
  const std::shared_ptr<Mapping> mapping_;  // of block_: it outlives the release
  LaneSegment* const lane_;
  const int me_;
  const Clock::duration patience_;
  std::vector<Peer> peers_;
  Returned returned_;
  std::atomic<bool> connected_{false};
  std::mutex aborting_;
  bool aborted_ = false;  // under aborting_
};

}  // namespace weft::shm

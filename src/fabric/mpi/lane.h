// One lane between MPI processes: mail, payloads, and what has arrived.
//
// A member has four receives open for each peer. They take mail of up to 512 bytes: a message with
// a short payload, credits, an abort, a farewell. A longer payload follows its mail as an MPI
// message of its own. The reader receives it into memory of the lane. MPI keeps the order of
// messages with one tag from one rank, so the n-th payload belongs to the n-th mail that announced
// one.
//
// MPI cannot take back what it has begun to send. So nothing is sent from a caller's memory or
// received into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/mpi.h"
#include "fabric/process.h"

namespace weft::mpi {

// How the lanes of a member are told apart by its peers: each has two tags, and MPI promises 32768.
inline constexpr int kMostLanes = 16384;

struct Mail {
  enum class Kind : std::uint32_t { kHello, kMessage, kCredit, kAbort, kFarewell };
  Kind kind = Kind::kHello;
  std::int32_t channel = 0;
  std::uint64_t credited = 0;  // messages of the receiver on this channel
  Header header{};             // bytes: also the length of an abort's text
  std::array<std::byte, kInlineBytes> inlined{};
};
static_assert(sizeof(Mail) == 512);

// Not thread safe: Site (site.h) has the lock.
class Lane {
 public:
  // `ranks`: of the members in `comm`, -1 for those of another fabric. `number`: this lane's among
  // the own ones. Opens the receives.
  Lane(const Mpi& mpi, Comm comm, std::vector<int> ranks, int me, int number);
  ~Lane();
  Lane(const Lane&) = delete;

  // Neither in a forked child, nor once the program has finalised MPI.
  bool may_call() const { return !mark_.forked() && !mpi_.finalized(); }
  int number() const { return number_; }
  int me() const { return me_; }
  std::size_t members() const { return peers_.size(); }
  bool serves(std::size_t place) const {
    return ranks_[place] >= 0 && static_cast<int>(place) != me_;
  }

  // Says hello to all. `numbers`: the lane's number at each member.
  void greet(const std::vector<std::uint64_t>& numbers);
  bool has_joined(std::size_t place) const { return peers_[place].joined; }
  bool has_left(std::size_t place) const { return peers_[place].left; }
  // Whether the lane was aborted or a member has left.
  bool troubled() const { return troubled_; }

  // `memory` keeps the slot.
  void send(int peer, const Outgoing& out, std::uint64_t number,
            const std::shared_ptr<const void>& memory);
  const Header* arrival(int peer, int channel, std::uint64_t number);
  Delivery payload(int peer, int channel, std::uint64_t number);
  void credit(int peer, int channel, std::uint64_t total, std::uint64_t patience);
  bool credited(int peer, int channel, std::uint64_t total);
  // Whether MPI no longer reads the payload of message `number`.
  bool sent(int peer, int channel, std::uint64_t number);

  void abort(const std::string& why);
  const std::string& why_aborted() const { return why_; }
  void say_farewell();

  // Takes what has come from one peer, or from all. Whether anything had.
  bool receive(int peer);
  bool progress();
  // The place of a member to whom something is still being sent; kNobody.
  int awaited();
  // All members have left, and nothing is on its way: the number may be used again.
  bool is_over();

 private:
  static constexpr int kOpen = 4;

  struct Payload {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
    Request request{};
  };
  struct Received {
    Header header;
    Payload payload{};  // of more than kInlineBytes
    std::array<std::byte, kInlineBytes> inlined;
  };
  struct Queue {
    std::deque<Received> messages;  // those that are not credited
    std::uint64_t first = 0;        // the number of the first of them
    std::uint64_t told = 0;         // credits that the peer knows of
    std::uint64_t credited = 0;     // of our messages, by the peer
  };
  struct Peer {
    int number = -1;  // the lane's, at the peer
    std::array<Mail, kOpen> mail;
    std::array<Request, kOpen> receives{};
    int next = 0;
    std::array<Queue, kMaxChannels> queues;
    std::deque<Received*> awaited;  // payloads that are not here yet
    bool joined = false, left = false;
    // Takes effect when the payloads before it are here, or a second later.
    bool aborts = false, leaves = false;
    std::string why;
    Clock::time_point since{};
  };
  struct Sent {
    Request request;
    int peer = 0;
    std::unique_ptr<Mail> mail{};  // null: a payload
    int channel = 0;
    std::uint64_t number = 0;
    std::shared_ptr<const void> memory{};
  };

  Peer& peer(int place) { return peers_[static_cast<std::size_t>(place)]; }
  int rank(int place) const { return ranks_[static_cast<std::size_t>(place)]; }
  int mail_tag(int number) const { return 2 * number; }
  int payload_tag(int number) const { return 2 * number + 1; }

  void open(int place, int slot);
  void give_up(Request& receive);
  void take(int place, const Mail& mail);
  void take_message(int place, const Mail& mail);
  bool take_payloads(Peer& from);
  void heed(Peer& from);
  std::unique_ptr<Mail> new_mail(Mail::Kind kind, int channel);
  void post(int place, std::unique_ptr<Mail> mail, std::size_t payload);
  bool look_after_sends();
  void recycle(Payload& payload);
  Payload take_memory(std::size_t bytes);

  const ForkMark mark_;
  const Mpi& mpi_;
  const Comm comm_;
  const std::vector<int> ranks_;
  const int me_, number_;
  std::vector<Peer> peers_;
  std::vector<Sent> sends_;
  std::vector<std::unique_ptr<Mail>> spare_mail_;
  std::vector<Payload> spare_;
  std::string why_;
  bool troubled_ = false;
};

}  // namespace weft::mpi

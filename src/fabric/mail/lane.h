// One lane between processes that exchange mail: who has come and gone, and what has arrived.
//
// A message with a short payload travels as one mail. A longer payload follows its mail, and is
// received into memory of the lane; or it stays in the sender's slot, where the reader loads it.
//
// MPI and OpenSHMEM cannot take back what they have begun to send. So nothing is sent from a
// caller's memory or received into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mail/line.h"

namespace weft::mail {

// Not thread safe: calls hold Site::mutex.
class Lane {
 public:
  // `ranks`: of the members in the job, -1 for those of another fabric.
  Lane(Lines& lines, std::vector<int> ranks, int me);
  ~Lane();
  Lane(const Lane&) = delete;

  std::uint64_t number() const { return number_; }
  int me() const { return me_; }
  std::size_t members() const { return peers_.size(); }
  bool serves(std::size_t place) const { return peers_[place].line != nullptr; }

  // Says hello to all. `numbers`: the lane's number at each member.
  void greet(const std::vector<std::uint64_t>& numbers);
  bool has_joined(std::size_t place) const { return peers_[place].joined; }
  bool has_left(std::size_t place) const { return peers_[place].left; }
  // All have joined, as far as this member knows. Its farewell will say so.
  void note_connected() { connected_ = true; }
  bool left_unconnected(std::size_t place) const {
    return peers_[place].left && !peers_[place].connected;
  }
  // Whether the lane was aborted or a member has left.
  bool troubled() const { return troubled_; }

  // `memory` keeps the slot.
  void send(int peer, const Outgoing& out, std::uint64_t number,
            std::shared_ptr<const void> memory);
  const Header* arrival(int peer, int channel, std::uint64_t number) const;
  Delivery payload(int peer, int channel, std::uint64_t number) const;
  void credit(int peer, int channel, std::uint64_t total, std::uint64_t patience);
  bool credited(int peer, int channel, std::uint64_t total) const;
  // Whether the payload of message `number` no longer occupies its slot.
  bool settled(int peer, int channel, std::uint64_t number);

  // The number of the collective that this rank has begun, for whoever asks.
  void begin(std::uint64_t sequence) {
    begun_ = sequence;
    in_turn_ = true;
  }
  void ask(int peer);
  // The peer's answer to the last ask(); empty: none has come.
  std::optional<std::uint64_t> told(std::size_t place) const { return peers_[place].told; }

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
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
  };
  struct Received {
    Header header;
    const std::byte* payload = nullptr;  // of more than kInlineBytes
    Memory memory{};                     // where it was received; empty: it lies at the sender
    std::uint64_t awaits = 0;            // how many payloads the line has received by then
    std::array<std::byte, kInlineBytes> inlined;
  };
  struct Sent {
    std::uint64_t number;
    std::uint64_t awaits;  // how many payloads the line has sent by then
    std::shared_ptr<const void> memory;
  };
  struct Queue {
    std::deque<Received> messages;  // those that are not credited
    std::uint64_t first = 0;        // the number of the first of them
    std::uint64_t told = 0;         // credits that the peer knows of
    std::uint64_t credited = 0;     // of our messages, by the peer
    std::deque<Sent> in_slots;      // of our messages
  };
  struct Peer {
    std::unique_ptr<Line> line;
    std::array<Queue, kMaxChannels> queues;
    std::uint64_t payloads_sent = 0, payloads_awaited = 0, payloads_here = 0;
    bool knows_us = false, joined = false, left = false, connected = false;
    // Takes effect when the payloads before it are here, or a second later.
    bool aborts = false, leaves = false;
    std::optional<std::uint64_t> told;
    std::string why;
    Clock::time_point since{};
  };

  Peer& peer(int place) { return peers_[static_cast<std::size_t>(place)]; }
  const Queue& queue(int place, int channel) const {
    return peers_[static_cast<std::size_t>(place)].queues[static_cast<std::size_t>(channel)];
  }
  Queue& queue(int place, int channel) {
    return peer(place).queues[static_cast<std::size_t>(channel)];
  }
  template <typename Each>
  void for_peers(Each each);

  Mail& begin_mail(Mail::Kind kind, int channel);
  void post(Peer& to, Mail& mail, std::size_t inlined);
  bool is_awaited(const Mail& mail) const;
  void take(Peer& from, const Mail& mail);
  void take_message(Peer& from, const Mail& mail);
  void heed(Peer& from);
  static void leave_behind(Peer& peer);
  Memory take_memory(std::size_t bytes);
  void recycle(Memory memory);

  Lines& lines_;
  const int me_;
  const std::uint64_t number_;
  std::vector<Peer> peers_;
  std::vector<Memory> spare_;
  std::uint64_t begun_ = 0;
  bool in_turn_ = false;  // a lane of collectives: all members make the same calls in turn
  Mail outgoing_;
  std::string why_;
  bool troubled_ = false, said_farewell_ = false, connected_ = false;
};

}  // namespace weft::mail

// Sends and receives of a communicator, on an endpoint of their own.
//
// For each ordered pair three streams. Rank s sends to rank d:
//   envelope  s -> d  tag, count, dtype; a small payload comes along and that is all
//   go        d -> s  "the send that you numbered n has met its receive"
//   data      s -> d  the plan sendrecv/stream, one transfer after another, in the order
//                     of the go messages
// So a receive may take a later send first, and no transfer starts before its receive is
// there: two ranks that both send first cannot fill each other's slots and block.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/match.h"
#include "comm/planner.h"
#include "comm/rank_text.h"
#include "engine/lane.h"

namespace weft {

class PointToPoint : public Driven {
 public:
  PointToPoint(std::shared_ptr<Engine> engine, std::unique_ptr<Endpoint> endpoint, int me,
               int members, std::shared_ptr<Fate> fate, std::function<void()> interrupt,
               Planner& planner, int priority = 0);
  // Requires that nothing is pending.
  ~PointToPoint() override;

  // Thread safe. Arguments have been checked.
  Request send(const void* data, std::size_t count, DType dtype, int destination, int tag,
               std::chrono::milliseconds timeout, bool wake);
  Request receive(void* data, std::size_t count, DType dtype, int source, int tag,
                  std::chrono::milliseconds timeout, bool wake);

  // Whether what was submitted has finished and its payloads have been read, or never will be.
  bool drained();

  bool step(bool look, Pace pace, Finished& finished) override;
  bool pending() const override { return open_.load(std::memory_order_acquire) > 0; }

 private:
  // One send or receive of this rank.
  struct Operation {
    bool sends;
    std::byte* data;
    std::size_t count;
    DType dtype;
    int peer, tag;
    std::shared_ptr<Request::State> state;
    Clock::time_point deadline;
    std::uint32_t number = 0;  // of the send at its sender
    Binding binding;
    std::unique_ptr<Run> run;
    std::size_t bytes() const { return count * size_of(dtype); }
  };
  using Owned = std::unique_ptr<Operation>;

  // The transfers under way with one peer.
  struct Peer {
    std::deque<Owned> to_announce;             // sends whose envelope has not gone
    std::map<std::uint32_t, Owned> announced;  // sends that wait for their go, by number
    std::deque<Owned> outgoing, incoming;      // transfers, the first one running
    std::deque<std::uint32_t> goes;            // go messages not sent yet
    std::uint32_t next_number = 0;
  };

  std::shared_ptr<Request::State> new_state(std::chrono::milliseconds timeout) const;
  Request submit(Owned operation, bool wake);
  bool advance(bool look, Pace pace, Finished& finished);
  // Goes on with every peer. True if anything moved.
  bool exchange(bool look, Pace pace, Finished& finished);
  Owned next_submitted();  // null: none
  bool accept(Finished& finished);
  bool announce(int peer, Finished& finished);
  bool take_envelopes(int peer, Finished& finished);
  bool take_goes(int peer);
  bool send_goes(int peer);
  // Goes on with the first of `queue`, then with the next ones. With Pace::kOneTrip one trip of it.
  bool transfer(std::deque<Owned>& queue, bool look, Pace pace, Finished& finished);
  void met(Owned receive, Envelope envelope, Finished& finished);
  void begin(Operation& operation);
  void finish(Owned operation, std::exception_ptr error, Finished& finished);
  void fail_all(std::exception_ptr error, Finished& finished);
  void look_at_unmatched();
  void check_unmatched(const Operation& operation, const char* what);
  bool room(int peer, int channel);
  void post(int peer, int channel, const Signature& signature, const void* payload,
            std::size_t bytes);

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Endpoint> endpoint_;
  const int me_, members_;
  std::shared_ptr<Fate> fate_;
  const std::function<void()> interrupt_;
  Planner& planner_;

  std::mutex stepping_;  // what follows, up to the next mutex
  LaneState state_;
  std::vector<Peer> peers_;
  Matcher<Owned> matcher_;

  std::mutex mutex_;
  std::deque<Owned> submitted_;
  // Operations not finished; counted before they are visible. Release and acquire as in Lane.
  std::atomic<int> open_{0};
};

}  // namespace weft

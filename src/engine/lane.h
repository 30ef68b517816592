// The queue of a communicator's collectives: strictly first in, first out.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "engine/engine.h"
#include "engine/request.h"
#include "engine/run.h"
#include "engine/scratch.h"

namespace weft {

// Why a communicator ended, shared by its lanes. Thread safe.
class Fate {
 public:
  // The first cause wins. Tells the members through every endpoint that was added.
  void end(const std::string& why);
  void add(Endpoint* endpoint);
  void remove(Endpoint* endpoint);
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  std::string why() const;
  // Whether it has ended here or, as this endpoint of it knows, by a member: then it ends here too.
  bool ended(const Endpoint& endpoint);
  // Throws Aborted with the first cause if it has ended.
  void check() const {
    if (ended()) [[unlikely]]
      refuse();
  }
  // Before a call begins.
  void check(const Endpoint& endpoint) {
    if (endpoint.troubled()) [[unlikely]]
      (void)ended(endpoint);
    check();
  }

 private:
  [[noreturn]] void refuse() const;

  mutable std::mutex mutex_;
  std::atomic<bool> ended_{false};  // release-stored after why_
  std::string why_;
  std::vector<Endpoint*> endpoints_;
};

// Examines a blocked run for an abort, a lost peer and the deadline. Throws the error; returns
// if the run has something to wait for, or has finished. `sequence` and `timeout` are what messages
// to people show.
void examine(Run& run, Endpoint& endpoint, int me, int members, std::uint64_t sequence,
             Clock::time_point deadline, std::chrono::milliseconds timeout);

// The text of an error, for the members that did not see it themselves.
std::string reason(const std::exception_ptr& error, int me);

// For an aborted lane whose runs are given up: afterwards no peer writes to the outputs of
// `bindings`.
void stop_peer_writes(Endpoint& endpoint, Fabric& fabric,
                      const std::vector<const Binding*>& bindings);

class Lane : public Driven, private ArenaPool::Holder {
 public:
  // `members` ranks, of which this is `me`.
  Lane(std::shared_ptr<Engine> engine, std::unique_ptr<Endpoint> endpoint, int me, int members,
       std::shared_ptr<Fate> fate, std::function<void()> interrupt, int priority = 0);
  // Requires that nothing is pending.
  ~Lane() override;

  // Runs on this thread if nothing is queued, else after it. If other lanes go first, or
  // no worker drives them, it is queued, too, and this thread drives all lanes. Throws what it
  // fails with. `bound()` gives a binding that no one else uses while it runs; only the lane's
  // owner calls it. `bind(binding)` fills a new one. If either throws, nothing has happened.
  template <typename Bound, typename Bind>
  void run(Bound&& bound, Bind&& bind, std::chrono::milliseconds timeout) {
    fate_->check(*endpoint_);
    if (!outranked() && engine_->has_worker() && try_own_idle()) {
      Release at_end{this};
      run_now(bound(), timeout);
      return;
    }
    Binding binding;
    bind(binding);
    finish(submit(binding, timeout, false));
  }
  // Queues a copy of `binding`.
  Request submit(const Binding& binding, std::chrono::milliseconds timeout, bool wake = true);

  // Whether what was submitted has finished and its payloads have been read, or never will be.
  bool drained();
  // Throws Mismatch, and ends the communicator, if a peer has sent something for a collective that
  // has ended here without it. It sees only messages that have arrived. While anything is under way
  // it does not look.
  void check_leftovers();

  // relaxed: only the lane's owner counts; others show it to people.
  std::uint64_t sequence() const { return sequence_.load(std::memory_order_relaxed); }

  bool step(bool look, Pace pace, Finished& finished) override;
  bool pending() const override { return queued_.load(std::memory_order_acquire) > 0; }

 private:
  struct Task {
    Binding binding;
    std::shared_ptr<Request::State> state;
    Clock::time_point deadline;
    std::uint64_t sequence = 0;
    bool started = false;
  };

  // acquire, release: all that an owner did is done for the next, whatever thread that is. An
  // owner and a submitter may miss each other's store; the progress thread then tries again.
  bool try_own() { return !owned_.exchange(true, std::memory_order_acquire); }
  void release() { owned_.store(false, std::memory_order_release); }
  // Owns the lane if nothing is queued before the caller.
  bool try_own_idle() {
    if (pending() || !try_own()) return false;
    if (!pending()) return true;
    release();
    return false;
  }
  struct Release {
    Lane* lane;
    ~Release() {
      lane->release();
      // A thread that tried to run the tasks queued meanwhile may have failed to own the lane, and
      // may sleep by now.
      if (lane->pending()) [[unlikely]]
        lane->engine_->queued(true);
    }
  };
  // The number of the next collective. The lane's owner only.
  std::uint64_t count() {
    const std::uint64_t number = sequence_.load(std::memory_order_relaxed) + 1;
    sequence_.store(number, std::memory_order_relaxed);
    return number;
  }
  void run_now(Binding& binding, std::chrono::milliseconds timeout);
  void finish(const Request& request);
  inline void begin(Binding& binding, std::uint64_t sequence);
  SymmetricBlock give_idle() override;
  // Ends the communicator for the exception that is being handled, in a run of `binding`; what it
  // means to the caller.
  std::exception_ptr fail(const Binding& binding);
  void fail_all(std::exception_ptr error, Finished& finished);
  void finish_front(std::exception_ptr error, Finished& finished);

  std::shared_ptr<Engine> engine_;
  Scratch scratch_;  // outlives the endpoint, which may send from it
  std::unique_ptr<Endpoint> endpoint_;
  const int me_, members_;
  std::shared_ptr<Fate> fate_;
  const std::function<void()> interrupt_;

  // One thread executes at a time: it holds `owned_`.
  std::atomic<bool> owned_{false};
  LaneState state_;
  Run run_;

  std::mutex mutex_;  // the queue
  std::deque<std::unique_ptr<Task>> queue_;
  // Counted before a task is visible: a synchronous call that reads 0 overtakes nobody. Taken
  // down with release, read with acquire: who reads 0 comes after what the tasks did.
  std::atomic<int> queued_{0};
  std::atomic<std::uint64_t> sequence_{0};
};

}  // namespace weft

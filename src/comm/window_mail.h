// Puts to ranks that share no memory with this one: pieces in messages, which the engine of the
// target applies.
//
// A message has a piece of the data, the change of a signal, both, or says that the sender has
// left. A put of several pieces changes its signal with the last. Messages to one target go and
// are applied in the order of the calls.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "comm/window_part.h"
#include "engine/lane.h"

namespace weft {

// The progress thread drives it as long as a peer is far.
class WindowMail : public Driven {
 public:
  struct Put {
    int target = 0;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::size_t offset = 0;
    std::optional<SignalUpdate> update{};
    std::function<void()> when_free{};
    bool leaves = false;  // the sender's last

    std::size_t sent = 0;  // bytes
    bool posted = false;   // all of it
    // Messages that still hold the source: number, bytes.
    std::vector<std::pair<std::uint64_t, std::size_t>> holding{};
  };

  // `far`: by rank, whether it is reached by messages. `mine`: the part that they are applied to.
  WindowMail(std::shared_ptr<Engine> engine, int priority, std::unique_ptr<Endpoint> endpoint,
             int me, std::vector<bool> far, const WindowPart& mine, std::shared_ptr<Fate> fate);
  ~WindowMail() override;

  // Thread safe.
  void submit(Put put);
  // Puts whose sources are not free yet.
  int outstanding() const { return outstanding_.load(std::memory_order_acquire); }
  // Nothing is under way any more, or never will be.
  bool drained();
  // Throws what ended the window, if something has: also what only the fabric knows so far.
  void check();
  // Whether check() would throw. May be asked often.
  bool failed();
  // All peers have left.
  bool alone() const;
  void nudge(int peer) { endpoint_->nudge(peer); }

  bool step(bool look, Pace pace, Finished& finished) override;
  bool pending() const override { return driven_.load(std::memory_order_acquire); }
  bool busy() const override { return outstanding() > 0; }

 private:
  using Owned = std::unique_ptr<Put>;

  bool send(int peer, Pace pace, Finished& finished);
  bool send_piece(Put& put);
  bool receive(int peer);
  void apply(int peer, const Header& header, const Delivery& delivery);
  bool free_sources(Finished& finished);
  void free(Put& put, Finished& finished);
  void examine(Finished& finished);
  void look_at_peers();
  bool is_drained(Finished& finished);
  void fail(std::exception_ptr error, Finished& finished);
  void accept();

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Endpoint> endpoint_;
  const int me_, members_;
  const std::vector<bool> far_;
  const WindowPart mine_;
  std::shared_ptr<Fate> fate_;
  std::atomic<bool> driven_{false};
  std::atomic<int> outstanding_{0};
  std::atomic<bool> failed_{false};  // release-stored after failure_

  std::mutex stepping_;  // what follows, up to the next mutex, and the endpoint
  LaneState state_;
  std::uint64_t slots_used_ = 0;
  std::vector<std::deque<Owned>> to_send_;  // by target
  std::deque<Owned> sent_;                  // whose sources are held
  std::exception_ptr failure_;

  std::mutex mutex_;
  std::deque<Owned> submitted_;
  bool over_ = false;
};

}  // namespace weft

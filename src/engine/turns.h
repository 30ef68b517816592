// In which order an engine steps what it drives.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "engine/pace.h"
#include "fabric/fabric.h"

namespace weft {

// Something that the engine drives: the collectives of a lane, the transfers of a
// communicator.
class Driven {
 public:
  // `priority`: a higher one goes first.
  explicit Driven(int priority) : priority_(priority) {}
  virtual ~Driven() = default;
  Driven(const Driven&) = delete;
  Driven& operator=(const Driven&) = delete;

  // Work that has finished and whose callbacks are to run once no lock is held.
  using Finished = std::vector<std::function<void()>>;
  // Goes on as far as nothing blocks and `pace` lets it. True if anything moved. `look`: time to
  // look at clocks and peers. Called by one thread at a time.
  virtual bool step(bool look, Pace pace, Finished& finished) = 0;
  // Whether there is anything to drive.
  virtual bool pending() const = 0;
  // Whether work of its own is under way, for which others may have to stand back.
  virtual bool busy() const { return pending(); }

  int priority() const { return priority_; }
  // Whether something of a higher priority is attached. relaxed: who misses a change is as one that
  // looked before it.
  bool outranked() const { return outranked_.load(std::memory_order_relaxed); }

 private:
  friend class Turns;
  // After each step: whether it went.
  void note_step(bool went, Clock::time_point now);
  // Whether it is likely to move again soon, so that those below it stand back.
  bool keeps_back(Clock::time_point now) const;

  const int priority_;
  std::atomic<bool> outranked_{false};
  // Under the lock of whoever steps it:
  Clock::time_point moved_{};        // last
  bool busy_since_ = false;          // since then
  Clock::duration between_moves_{};  // usually, while busy
};

// What an engine drives, the highest priority first. One thread at a time.
class Turns {
 public:
  void attach(Driven* driven);
  void detach(Driven* driven);
  bool pending() const;

  // Whether step() needs to know the time: there are several priorities.
  bool timed() const { return !driven_.empty() && driven_.back()->outranked(); }
  // Steps all in the order of their priorities. Ends after a trip of one that is outranked, so that
  // those above it are asked again, and at one that stands back. `now`: any if not timed(). True if
  // anything moved. `finished`: see Driven::step.
  bool step(bool look, Clock::time_point now, Driven::Finished& finished);

 private:
  void find_outranked();
  // Its equals come before it next time.
  void put_behind_equals(std::vector<Driven*>::iterator at);
  // Something stands back now. True until it has done so for long enough.
  bool may_stand_back(Clock::time_point now);

  std::vector<Driven*> driven_;     // the highest priority first
  Clock::time_point back_since_{};  // something stands back; else the epoch
};

}  // namespace weft

#include "engine/turns.h"

#include <algorithm>
#include <limits>

namespace weft {

namespace {

// Where all wait for the wire, a lane that went whenever those above it stand still would get as
// much of the wire as they. So it stands back while they move: until four times the usual time
// between two moves has passed, and never longer than this, since they may wait for a late rank.
// After so long it goes once in any case.
constexpr int kTimesBetweenMoves = 4;
constexpr std::chrono::milliseconds kLongestBack{20};

}  // namespace

void Driven::note_step(bool went, Clock::time_point now) {
  if (went) {
    const Clock::duration passed = now - moved_;
    // Several moves may follow one arrival: the longer times count.
    if (busy_since_ && passed < kLongestBack)
      between_moves_ = std::max(passed, between_moves_ - between_moves_ / 8);
    moved_ = now;
    busy_since_ = true;
  }
  busy_since_ = busy_since_ && busy();
}

bool Driven::keeps_back(Clock::time_point now) const {
  const Clock::duration longest = kLongestBack;
  return busy() && now - moved_ < std::min(kTimesBetweenMoves * between_moves_, longest);
}

void Turns::attach(Driven* driven) {
  driven_.insert(
      std::ranges::upper_bound(driven_, driven->priority(), std::greater(), &Driven::priority),
      driven);
  find_outranked();
}

void Turns::detach(Driven* driven) {
  std::erase(driven_, driven);
  find_outranked();
}

bool Turns::pending() const {
  return std::ranges::any_of(driven_, [](const Driven* driven) { return driven->pending(); });
}

void Turns::find_outranked() {
  for (Driven* driven : driven_)
    driven->outranked_.store(driven->priority() < driven_.front()->priority(),
                             std::memory_order_relaxed);
}

void Turns::put_behind_equals(std::vector<Driven*>::iterator at) {
  const auto below = std::find_if(at, driven_.end(), [&](const Driven* other) {
    return other->priority() < (*at)->priority();
  });
  std::rotate(at, at + 1, below);
}

bool Turns::may_stand_back(Clock::time_point now) {
  if (back_since_ == Clock::time_point{}) back_since_ = now;
  return now - back_since_ < kLongestBack;
}

bool Turns::step(bool look, Clock::time_point now, Driven::Finished& finished) {
  bool moved = false, stands_back = false;
  const bool several = timed();
  int least = std::numeric_limits<int>::min();  // that is not kept back
  for (auto at = driven_.begin(); at != driven_.end(); ++at) {
    Driven* const driven = *at;
    if (driven->priority() < least) {
      stands_back = may_stand_back(now);
      if (stands_back) break;
    }
    const bool outranked = driven->outranked();
    const bool went = driven->step(look, outranked ? Pace::kOneTrip : Pace::kFree, finished);
    if (several) driven->note_step(went, now);
    if (several && driven->keeps_back(now)) least = std::max(least, driven->priority());
    if (!went) continue;
    moved = true;
    if (!outranked) continue;
    put_behind_equals(at);
    break;
  }
  if (!stands_back) back_since_ = {};
  return moved;
}

}  // namespace weft

#include "passes/verify/value_domain.h"

#include <algorithm>
#include <utility>

namespace weft::verifier {
namespace {

std::size_t most_channels(const std::vector<BoundPlan>& bound) {
  std::size_t most = 0;
  for (const BoundPlan& one : bound) most = std::max(most, one.plan->shape.channels.size());
  return most;
}

std::string name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

ValueDomain::ValueDomain(std::vector<BoundPlan> bound, Trees& trees, Findings& findings)
    : execute::Machine<ValueDomain, Types>(bound[0].plan->shape.ranks,
                                           static_cast<int>(most_channels(bound)), kMailboxDepth),
      bound_(std::move(bound)),
      trees_(trees),
      findings_(findings),
      clocks_(bound_[0].plan->shape.ranks) {
  for (const BoundPlan& one : bound_) memories_.emplace_back(one.plan->shape, *one.scenario);
  for (Rank& rank : ranks_) rank.announced.resize(ranks_.size()), rank.heard.resize(ranks_.size());
  starts_.resize(bound_.size());
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    for (std::vector<Access>& starts : starts_) starts.push_back(unseen(rank));
    ready_.insert(ready_.begin(), rank);
  }
}

bool ValueDomain::execute() {
  run_ready();
  if (stopped_) return false;
  report_unreceived();
  if (std::ranges::all_of(ranks_, &Rank::through)) return true;
  report_stuck();
  return false;
}

void ValueDomain::enter(int rank) {
  Rank& own = state(rank);
  const Scenario& call = scenario(rank);
  own.program =
      PreparedProgram(plan(rank).programs[static_cast<std::size_t>(rank)],
                      call.part(rank, Buffer::kInput), call.part(rank, Buffer::kOutput), kChunk);
  begin(rank, own.program, plan(rank).shape.channels);
  own.slots.assign(plan(rank).shape.channels.size(), {});
  RankPosition position;
  position.rank = rank;
  log(rank, position);
  starts_[own.run][static_cast<std::size_t>(rank)] = now(rank);
  memory_of(rank).start(now(rank));
}

bool ValueDomain::leave(int rank) {
  log(rank, position_of(rank));
  flush(rank);
  check_left_over(rank);
  if (plan(rank).shape.collective == Collective::kBarrier) check_barrier(rank);
  check_buffers_are_free(rank);
  return ++state(rank).run < bound_.size();
}

void ValueDomain::step(int rank) {
  Rank& own = state(rank);
  log(rank, position_of(rank));
  own.sum = variables(rank).size(rank, own.cursor.step()->extent, own.cursor.round());
  perform(rank);
}

void ValueDomain::check_barrier(int rank) {
  const std::vector<Access>& starts = starts_[state(rank).run];
  for (const Access& start : starts)
    if (!clocks_.covers(rank, start))
      return fault(
          Fault::kWrongResult, rank,
          "leaves the barrier without knowing that " + name(start.rank) + " has entered it");
}

// The caller may read and write all of its buffers from now on.
void ValueDomain::check_buffers_are_free(int rank) {
  Memory& memory = memory_of(rank);
  for (std::size_t i = memory.begin(rank); i < memory.begin(rank + 1); ++i) {
    if (!release_puts(rank, memory[i])) return;
    Conflict conflict = memory.write(memory[i], now(rank), clocks_);
    if (!conflict) continue;
    return fault(Fault::kRace, rank,
                 "gives its buffers back to the caller while " + name(conflict.with.rank) +
                     " may still " + (conflict.write ? "write" : "read") + " them at " +
                     where(conflict.with.event));
  }
}

// Messages that the next plan on the lane would misread, as far as this rank can see them.
void ValueDomain::check_left_over(int rank) {
  const int channels = static_cast<int>(plan(rank).shape.channels.size());
  for (int channel = 0; channel < channels; ++channel) {
    const OwnSlot& slot = state(rank).slots[static_cast<std::size_t>(channel)];
    if (slot.filled)
      fault(Fault::kContract, rank,
            "the own slot of channel " + std::to_string(channel) + ", filled at " +
                where(slot.event) + ", was never sent");
    for (int from = 0; state(rank).held > 0 && from < plan(rank).shape.ranks; ++from) {
      const execute::Stream& in = streams_[streams_.find(from, rank, channel)];
      if (in.first != in.waited) report_message(rank, in.first, "credited");
    }
  }
}

// Messages that ranks which are through have not taken.
void ValueDomain::report_unreceived() {
  for (std::int32_t i = 0; i < streams_.size(); ++i) {
    const execute::Stream& in = streams_[i];
    if (state(in.to).through && in.waited != execute::kNone)
      report_message(in.to, in.waited, "received");
  }
}

void ValueDomain::report_message(int rank, std::int32_t entry, const std::string& what) {
  const Message& left = message(entry);
  fault(Fault::kContract, rank,
        "the message of " + name(left.rank) + " on channel " + std::to_string(left.channel) +
            ", sent at " + where(left.event) + ", was never " + what);
}

// Whom a rank that is held waits for.
int ValueDomain::waits_for(int rank) {
  const execute::Stream& stream = streams_[holder(rank)];
  return stream.from == rank ? stream.to : stream.from;
}

std::string ValueDomain::stands_at(int rank) {
  if (state(rank).through) return name(rank) + " is through";
  return name(rank) + " waits for rank " + std::to_string(waits_for(rank)) + " at " +
         describe(plan(rank), position_of(rank));
}

// Only those that are in a circle, or wait for one that is through: the others wait for them.
void ValueDomain::report_stuck() {
  constexpr const char* kWhat[] = {"", "a message from ", "room in the mailbox of ",
                                   "its slot to be credited by ", "its puts to be credited by "};
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (state(rank).through) continue;
    const int peer = waits_for(rank);
    int at = peer;
    for (std::size_t i = 0; i < ranks_.size() && at != rank && !state(at).through; ++i)
      at = waits_for(at);
    if (at != rank && !state(peer).through) continue;
    log(rank, position_of(rank));
    fault(Fault::kDeadlock, rank,
          "waits for " + std::string(kWhat[state(rank).hold.why]) + name(peer) + " on channel " +
              std::to_string(streams_[holder(rank)].channel) + "; " + stands_at(peer));
  }
}

// Where the rank stands; the run is log()'s to fill in.
RankPosition ValueDomain::position_of(int rank) const {
  RankPosition position;
  position.rank = rank;
  position.step = RankPosition::kEnd;
  const Cursor& at = state(rank).cursor;
  if (!at.step()) return position;
  return {rank,       0,         static_cast<int>(at.section()),
          at.round(), at.trip(), static_cast<int>(at.at())};
}

void ValueDomain::log(int rank, RankPosition position) {
  position.run = static_cast<int>(state(rank).run);
  state(rank).event = static_cast<Event>(log_.size());
  log_.push_back(position);
}

void ValueDomain::fault(Fault fault, int rank, const std::string& text) {
  const RankPosition& position = log_[state(rank).event];
  findings_.add(fault, *bound_[static_cast<std::size_t>(position.run)].plan, position, text);
  // The execution after a malformed step would be another plan's.
  if (fault == Fault::kMalformed || findings_.enough()) stopped_ = true;
}

std::string ValueDomain::where(Event event) const {
  const RankPosition& position = log_[event];
  return describe(*bound_[static_cast<std::size_t>(position.run)].plan, position);
}

}  // namespace weft::verifier

#include "passes/verify/machine.h"

#include <algorithm>
#include <utility>

namespace weft::verifier {
namespace {

std::size_t most_channels(const std::vector<Run>& runs) {
  std::size_t most = 0;
  for (const Run& run : runs) most = std::max(most, run.plan->shape.channels.size());
  return most;
}

std::string name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Machine::Machine(std::vector<Run> runs, Trees& trees, Findings& findings)
    : runs_(std::move(runs)),
      trees_(trees),
      findings_(findings),
      clocks_(runs_[0].plan->shape.ranks),
      traffic_(runs_[0].plan->shape.ranks, static_cast<int>(most_channels(runs_))) {
  for (const Run& run : runs_) memories_.emplace_back(run.plan->shape, *run.scenario);
  auto ranks = static_cast<std::size_t>(runs_[0].plan->shape.ranks);
  ranks_.resize(ranks);
  for (Rank& rank : ranks_) rank.announced.resize(ranks), rank.heard.resize(ranks);
  starts_.resize(runs_.size());
  for (std::vector<Access>& starts : starts_)
    for (std::size_t rank = 0; rank < ranks; ++rank)
      starts.push_back(unseen(static_cast<int>(rank)));
}

bool Machine::execute() {
  int ranks = static_cast<int>(ranks_.size());
  bool moved = true;
  while (moved && !stopped_) {
    moved = false;
    for (int rank = 0; rank < ranks; ++rank)
      while (!stopped_ && advance(rank)) moved = true;
  }
  if (stopped_) return false;
  report_unreceived();
  bool stuck = std::ranges::any_of(ranks_, [&](const Rank& r) { return r.run < runs_.size(); });
  if (stuck) report_stuck();
  return !stuck;
}

// One step of one rank. False if it cannot go, or is at the end of the sequence.
bool Machine::advance(int rank) {
  Rank& own = state(rank);
  if (own.run == runs_.size()) return false;
  if (!own.started) start(rank);
  own.hold = hold_of(rank);
  if (own.hold) return false;
  if (!own.cursor.step()) return finish(rank);
  log(rank, place_at(rank));
  own.sum = variables(rank).size(rank, own.cursor.step()->extent, own.cursor.round());
  perform(rank);
  own.cursor.advance();
  return true;
}

void Machine::start(int rank) {
  Rank& own = state(rank);
  own.started = true;
  own.program = PreparedProgram(plan(rank).programs[static_cast<std::size_t>(rank)],
                                scenario(rank).part(rank, Buffer::kInput),
                                scenario(rank).part(rank, Buffer::kOutput), kChunk);
  own.cursor = Cursor(own.program);
  own.slots.assign(plan(rank).shape.channels.size(), {});
  traffic_.begin_run(rank, plan(rank).shape.channels);
  Place place;
  place.rank = rank;
  log(rank, place);
  starts_[own.run][static_cast<std::size_t>(rank)] = now(rank);
  memory_of(rank).start(now(rank));
}

bool Machine::finish(int rank) {
  Rank& own = state(rank);
  log(rank, place_at(rank));
  traffic_.flush(rank, now(rank));
  check_left_over(rank);
  if (plan(rank).shape.collective == Collective::kBarrier) check_barrier(rank);
  give_back(rank);
  ++own.run;
  own.started = false;
  return true;
}

void Machine::check_barrier(int rank) {
  const std::vector<Access>& starts = starts_[state(rank).run];
  for (const Access& start : starts)
    if (!clocks_.covers(rank, start))
      fault(Fault::kWrongResult, rank,
            "leaves the barrier without knowing that " + name(start.rank) + " has entered it");
}

// The caller may read and write all of its buffers from now on.
void Machine::give_back(int rank) {
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

Hold Machine::hold_of(int rank) {
  const Step* step = state(rank).cursor.step();
  if (!step || step->verb == Verb::kFlush) return traffic_.flush_hold(rank);
  if (step->verb == Verb::kWait)
    return traffic_.receive_hold(rank, peer_of(rank, step->peers[0]), step->channel);
  if (step->verb == Verb::kSignal || step->verb == Verb::kPut)
    for (const Index& peer : step->peers)
      if (Hold hold = traffic_.mailbox_hold(rank, peer_of(rank, peer), step->channel)) return hold;
  if (step->verb == Verb::kPut) return traffic_.slot_hold(rank, step->channel);
  if (step->verb == Verb::kCopy || step->verb == Verb::kReduce)
    for (const Operand& operand : step->dst)
      if (operand.buffer == Buffer::kSlot)
        if (Hold hold = traffic_.slot_hold(rank, operand.channel)) return hold;
  return {};
}

void Machine::perform(int rank) {
  switch (state(rank).cursor.step()->verb) {
    case Verb::kCopy:
      return copy(rank);
    case Verb::kReduce:
      return reduce(rank);
    case Verb::kPut:
      return put(rank);
    case Verb::kSignal:
      return signal(rank);
    case Verb::kWait:
      return wait(rank);
    case Verb::kCredit:
      return credit(rank);
    case Verb::kFlush:
      return traffic_.flush(rank, now(rank));
  }
}

// What the next plan on the lane would stumble over, as far as this rank can see it.
void Machine::check_left_over(int rank) {
  int channels = static_cast<int>(plan(rank).shape.channels.size());
  for (int channel = 0; channel < channels; ++channel) {
    const OwnSlot& slot = state(rank).slots[static_cast<std::size_t>(channel)];
    if (slot.filled)
      fault(Fault::kContract, rank,
            "the own slot of channel " + std::to_string(channel) + ", filled at " +
                where(slot.event) + ", was never sent");
    for (int from = 0; from < plan(rank).shape.ranks; ++from) {
      const Stream& in = traffic_.stream(from, rank, channel);
      if (in.credited == in.waited) continue;
      const Message& message = traffic_[in.entries[in.credited].message];
      fault(Fault::kContract, rank,
            "the message of " + name(from) + " on channel " + std::to_string(channel) +
                ", sent at " + where(message.event) + ", was never credited");
    }
  }
}

// Messages that ranks which are through have not taken.
void Machine::report_unreceived() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (state(rank).run < runs_.size()) continue;
    for (int channel = 0; channel < static_cast<int>(most_channels(runs_)); ++channel)
      for (int from = 0; from < static_cast<int>(ranks_.size()); ++from) {
        const Stream& in = traffic_.stream(from, rank, channel);
        if (in.waited == in.entries.size()) continue;
        const Message& message = traffic_[in.entries[in.waited].message];
        fault(Fault::kContract, rank,
              "the message of " + name(from) + " on channel " + std::to_string(channel) +
                  ", sent at " + where(message.event) + ", was never received");
      }
  }
}

std::string Machine::stands_at(int rank) const {
  const Rank& own = state(rank);
  if (own.run == runs_.size()) return name(rank) + " is through";
  return name(rank) + " waits for rank " + std::to_string(own.hold.peer) + " at " +
         describe(plan(rank), place_at(rank));
}

// Only those that are in a circle, or wait for one that is through: the others wait for them.
void Machine::report_stuck() {
  constexpr const char* kWhat[] = {"", "a message from ", "room in the mailbox of ",
                                   "its slot to come back from ", "its puts to be returned by "};
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (state(rank).run == runs_.size()) continue;
    const Hold& hold = state(rank).hold;
    int at = hold.peer;
    for (std::size_t i = 0; i < ranks_.size() && at != rank && state(at).run < runs_.size(); ++i)
      at = state(at).hold.peer;
    if (at != rank && state(hold.peer).run < runs_.size()) continue;
    log(rank, place_at(rank));
    fault(Fault::kDeadlock, rank,
          "waits for " + std::string(kWhat[hold.why]) + name(hold.peer) + " on channel " +
              std::to_string(hold.channel) + "; " + stands_at(hold.peer));
  }
}

// Where the rank stands; the run is log()'s to fill in.
Place Machine::place_at(int rank) const {
  Place place;
  place.rank = rank;
  place.step = Place::kEnd;
  const Cursor& at = state(rank).cursor;
  if (!at.step()) return place;
  return {rank,       0,         static_cast<int>(at.section()),
          at.round(), at.trip(), static_cast<int>(at.at())};
}

void Machine::log(int rank, Place place) {
  place.run = static_cast<int>(state(rank).run);
  state(rank).event = static_cast<Event>(log_.size());
  log_.push_back(place);
}

void Machine::fault(Fault fault, int rank, const std::string& text) {
  const Place& place = log_[state(rank).event];
  findings_.add(fault, *runs_[static_cast<std::size_t>(place.run)].plan, place, text);
  // The execution after a malformed step would be another plan's.
  if (fault == Fault::kMalformed || findings_.enough()) stopped_ = true;
}

std::string Machine::where(Event event) const {
  const Place& place = log_[event];
  return describe(*runs_[static_cast<std::size_t>(place.run)].plan, place);
}

}  // namespace weft::verifier

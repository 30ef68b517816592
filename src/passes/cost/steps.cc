// The step table: what each verb takes, and what it waits for.
#include <algorithm>

#include "passes/cost/machine.h"

namespace weft::cost {
namespace {

// Bytes of a payload that comes with its message; to a longer one, in memory, it is as far again as
// to the message.
constexpr double kInMessage = 448;

double time(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

}  // namespace

bool Machine::perform(int rank) {
  switch (state(rank).cursor.step()->verb) {
    case Verb::kCopy:
      return copy(rank);
    case Verb::kReduce:
      return reduce(rank);
    case Verb::kPut:
      return put(rank);
    case Verb::kSignal:
      signal(rank);
      return true;
    case Verb::kWait:
      return wait(rank);
    case Verb::kCredit:
      credit(rank);
      return true;
    case Verb::kFlush:
      return drain(rank);
  }
  return true;
}

double Machine::payload(int channel, std::size_t count) const {
  const Width width = programs_.shape().channels[static_cast<std::size_t>(channel)].width;
  return static_cast<double>(count) * (width == Width::kWide     ? call_.accumulator
                                       : width == Width::kNarrow ? call_.wire
                                                                 : call_.element);
}

// Whether the next slot of a channel has come back from all that read it.
bool Machine::slot_free(int rank, int channel) {
  Rank& own = state(rank);
  Outbox& box = outbox(rank, channel);
  const Slot& slot = box.slots[box.next];
  if (slot.readers > 0) {
    own.held = Held::kSlot;
    return false;
  }
  own.began = own.now = std::max(own.now, slot.back);
  own.heard = std::max(own.heard, slot.depth);
  return true;
}

bool Machine::take_slots(int rank) {
  for (const Operand& operand : state(rank).cursor.step()->dst)
    if (operand.buffer == Buffer::kSlot && !slot_free(rank, operand.channel)) return false;
  return true;
}

void Machine::fill_slots(int rank) {
  const Cursor& cursor = state(rank).cursor;
  for (const Operand& operand : cursor.step()->dst) {
    if (operand.buffer != Buffer::kSlot) continue;
    Outbox& box = outbox(rank, operand.channel);
    box.filled = true;
    box.bytes = payload(operand.channel, cursor.span().count);
  }
}

// Seconds to read the step's sources at `rate`. What lies in a peer's memory is fetched meanwhile;
// over a network it is asked for first.
double Machine::read(int rank, double rate) {
  const Cursor& cursor = state(rank).cursor;
  double here = 0, fetched = 0, asked = 0;
  for (const Operand& source : cursor.step()->src) {
    const bool slot = source.buffer == Buffer::kSlot;
    const double bytes = slot ? payload(source.channel, cursor.span().count)
                              : static_cast<double>(cursor.span().count) * call_.element;
    here += time(bytes, rate);
    if (slot && !has_memory_) continue;
    const int owner = peer_of(rank, source.rank);
    if (owner == rank) continue;
    const Way& way = streams_[streams_.find(owner, rank, source.channel)].way;
    if (way.memory)
      fetched += (bytes > kInMessage ? way.latency : 0) +
                 std::max(time(bytes, way.bandwidth), time(bytes, rates_.fetch));
    else if (!slot)
      asked += 2 * way.latency + time(bytes, way.bandwidth);
  }
  return asked + std::max(here, fetched);
}

// Whether the payload in a peer's slot is in the own output already.
bool Machine::is_placed(int rank, const Operand& source) {
  if (!call_.symmetric || source.buffer != Buffer::kSlot) return false;
  const Stream& in = streams_[streams_.find(peer_of(rank, source.rank), rank, source.channel)];
  return in.first != kNone && streams_.entry(in.first).placed;
}

bool Machine::copy(int rank) {
  if (!take_slots(rank)) return false;
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  const Operand& source = step.src[0];
  auto writes = static_cast<double>(step.dst.size());
  const bool placed = is_placed(rank, source);
  for (const Operand& operand : step.dst)
    if (operand.buffer == Buffer::kOutput &&
        (placed || (call_.in_place && source.buffer == Buffer::kInput)))
      --writes;
  if (writes > 0) {
    const double bytes = static_cast<double>(own.cursor.span().count) * call_.element;
    own.now += read(rank, rates_.copy) + (writes - 1) * time(bytes, rates_.copy);
  }
  fill_slots(rank);
  return true;
}

bool Machine::reduce(int rank) {
  if (!take_slots(rank)) return false;
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  double seconds = read(rank, rates_.reduce);
  for (const Operand& target : step.dst)
    if (target.buffer == Buffer::kSlot)
      seconds =
          std::max(seconds, time(payload(target.channel, own.cursor.span().count), rates_.store));
  own.now += seconds;
  const double bytes = static_cast<double>(own.cursor.span().count) * call_.element;
  own.now += static_cast<double>(step.dst.size() - 1) * time(bytes, rates_.copy);
  fill_slots(rank);
  return true;
}

bool Machine::put(int rank) {
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  if (!slot_free(rank, step.channel)) return false;
  const double bytes = payload(step.channel, own.cursor.span().count);
  const bool delivers = !step.dst.empty();
  bool lazy = !delivers;
  if (has_memory_) {
    const Way way = streams_[streams_.find(rank, peer_of(rank, step.peers[0]), step.channel)].way;
    lazy = lazy && (!way.memory || (call_.symmetric && bytes > kInMessage));
    // Into each reader's output, or once into the slot; from symmetric memory it is read in place.
    if (way.memory && delivers && call_.symmetric)
      own.now += static_cast<double>(step.peers.size()) * time(bytes, way.bandwidth);
    else if (way.memory && !call_.symmetric)
      own.now += time(bytes, rates_.copy);
  }
  Outbox& box = outbox(rank, step.channel);
  box.slots[box.next].readers = static_cast<int>(step.peers.size());
  send(rank, bytes, static_cast<std::int32_t>(box.next), lazy, delivers && call_.symmetric);
  box.next = (box.next + 1) % box.slots.size();
  return true;
}

void Machine::signal(int rank) {
  const Step& step = *state(rank).cursor.step();
  Outbox& box = outbox(rank, step.channel);
  if (!box.filled) return send(rank, 0, kNone, false, false);
  box.filled = false;
  box.slots[box.next].readers = static_cast<int>(step.peers.size());
  send(rank, box.bytes, static_cast<std::int32_t>(box.next), false, false);
  box.next = (box.next + 1) % box.slots.size();
}

bool Machine::wait(int rank) {
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  const std::int32_t number = streams_.find(peer_of(rank, step.peers[0]), rank, step.channel);
  Stream& in = streams_[number];
  if (in.waited == kNone || !streams_.entry(in.waited).here) {
    own.held = Held::kMessage;
    own.awaited = number;
    return false;
  }
  const Entry& entry = streams_.entry(in.waited);
  own.awaited = kNone;
  own.began = own.now = std::max(own.now, entry.arrival);
  if (timeline_) timeline_->messages[static_cast<std::size_t>(entry.record)].received = own.now;
  own.heard = std::max(own.heard, entry.depth);
  in.waited = entry.next;
  return true;
}

void Machine::credit(int rank) {
  const Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  Stream& in = streams_[streams_.find(peer_of(rank, step.peers[0]), rank, step.channel)];
  const Entry entry = streams_.entry(in.first);
  streams_.pop(in);
  if (timeline_) timeline_->messages[static_cast<std::size_t>(entry.record)].returned = own.now;
  const double back = own.now + in.way.latency;
  if (entry.lazy && in.way.memory) put_is_read(in.from, back, own.heard);
  if (entry.slot == kNone) return;
  Slot& slot = outbox(in.from, step.channel).slots[static_cast<std::size_t>(entry.slot)];
  slot.back = std::max(slot.back, back);
  slot.depth = std::max(slot.depth, own.heard);
  if (--slot.readers == 0) wake(in.from, Held::kSlot);
}

// Until all own puts have been read.
bool Machine::drain(int rank) {
  Rank& own = state(rank);
  if (own.puts > 0) {
    own.held = Held::kPuts;
    return false;
  }
  own.began = own.now = std::max(own.now, own.puts_done);
  own.heard = std::max(own.heard, own.puts_depth);
  return true;
}

}  // namespace weft::cost

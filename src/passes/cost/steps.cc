// The step table: what each verb takes, and what it waits for.
#include <algorithm>
#include <utility>

#include "passes/cost/time_domain.h"
#include "weft/error.h"

namespace weft::cost {
namespace {

// Bytes of a payload that comes with its message; to a longer one, in memory, it is as far again as
// to the message.
constexpr double kInMessage = 448;

double time(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

}  // namespace

double TimeDomain::payload(int channel, std::size_t count) const {
  const Width width = programs_.shape().channels[static_cast<std::size_t>(channel)].width;
  return static_cast<double>(count) * (width == Width::kWide     ? call_.accumulator
                                       : width == Width::kNarrow ? call_.wire
                                                                 : call_.element);
}

// The own slot of a channel has come back.
void TimeDomain::take_slot(int rank, int channel) {
  const Slot& slot = this->slot(rank, state(rank).turns[static_cast<std::size_t>(channel)].slot());
  wait_until(rank, slot.back, slot.depth);
}

void TimeDomain::take_slots(int rank) {
  for (const Operand& operand : state(rank).cursor.step()->dst)
    if (operand.buffer == Buffer::kSlot) take_slot(rank, operand.channel);
}

void TimeDomain::fill_slots(int rank) {
  Rank& own = state(rank);
  for (const Operand& operand : own.cursor.step()->dst)
    if (operand.buffer == Buffer::kSlot)
      own.filled[operand.channel] = payload(operand.channel, own.cursor.span().count);
}

// Seconds to read the step's sources at `rate`. What lies in a peer's memory is fetched meanwhile;
// over a network it is asked for first.
double TimeDomain::fetch(int rank, double rate) {
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
    const Route& route = stream(streams_.find(owner, rank, source.channel)).route;
    if (route.memory)
      fetched += (bytes > kInMessage ? route.latency : 0) +
                 std::max(time(bytes, route.bandwidth), time(bytes, rates_.fetch));
    else if (!slot)
      asked += 2 * route.latency + time(bytes, route.bandwidth);
  }
  return asked + std::max(here, fetched);
}

// The message whose payload a peer's slot is; null: none was received.
const Entry* TimeDomain::oldest(int rank, const Operand& slot) {
  const Stream& in = streams_[streams_.find(peer_of(rank, slot.rank), rank, slot.channel)];
  return in.first == in.waited ? nullptr : &streams_.entry(in.first);
}

// Whether the payload in a peer's slot is in the own output already.
bool TimeDomain::is_placed(int rank, const Operand& source) {
  if (!call_.symmetric || source.buffer != Buffer::kSlot) return false;
  const Entry* in = oldest(rank, source);
  return in && in->placed;
}

void TimeDomain::copy(int rank) {
  take_slots(rank);
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
    own.now += fetch(rank, rates_.copy) + (writes - 1) * time(bytes, rates_.copy);
  }
  fill_slots(rank);
}

void TimeDomain::reduce(int rank) {
  take_slots(rank);
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  double seconds = fetch(rank, rates_.reduce);
  for (const Operand& target : step.dst)
    if (target.buffer == Buffer::kSlot)
      seconds =
          std::max(seconds, time(payload(target.channel, own.cursor.span().count), rates_.store));
  own.now += seconds;
  const double bytes = static_cast<double>(own.cursor.span().count) * call_.element;
  own.now += static_cast<double>(step.dst.size() - 1) * time(bytes, rates_.copy);
  fill_slots(rank);
}

void TimeDomain::take_entries(int rank) {
  for (std::int32_t number : at_)
    if (const Entry* before = streams_.replaced(streams_[number]))
      wait_until(rank, before->time, before->depth);
}

void TimeDomain::put(int rank) {
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  take_entries(rank);
  take_slot(rank, step.channel);
  const double bytes = payload(step.channel, own.cursor.span().count);
  const bool delivers = !step.dst.empty();
  bool lazy = !delivers;
  if (has_memory_ && !at_.empty()) {
    const Route& route = stream(at_[0]).route;
    lazy = lazy && (!route.memory || (call_.symmetric && bytes > kInMessage));
    // Into each reader's output, or once into the slot; from symmetric memory it is read in place.
    if (route.memory && delivers && call_.symmetric)
      own.now += static_cast<double>(step.peers.size()) * time(bytes, route.bandwidth);
    else if (route.memory && !call_.symmetric)
      own.now += time(bytes, rates_.copy);
  }
  send(rank, bytes, lazy, delivers && call_.symmetric);
}

void TimeDomain::signal(int rank) {
  take_entries(rank);
  double& filled = state(rank).filled[state(rank).cursor.step()->channel];
  send(rank, std::max(0.0, std::exchange(filled, -1)), false, false);
}

void TimeDomain::wait(int rank, std::int32_t number) {
  const Entry& entry = streams_.entry(number);
  wait_until(rank, entry.time, entry.depth);
  if (timeline_)
    timeline_->messages[static_cast<std::size_t>(entry.record)].received = state(rank).now;
}

bool TimeDomain::credit(int rank, std::int32_t number) {
  const Rank& own = state(rank);
  const Stream& in = stream(at_[0]);
  Entry& entry = streams_.entry(number);
  if (timeline_) timeline_->messages[static_cast<std::size_t>(entry.record)].credited = own.now;
  entry.time = own.now + in.route.latency;
  entry.depth = own.heard;
  Slot& slot = this->slot(in.from, entry.slot);
  slot.back = std::max(slot.back, entry.time);
  slot.depth = std::max(slot.depth, entry.depth);
  if (entry.unread) put_is_read(entry, entry.time, entry.depth);
  return true;
}

void TimeDomain::nothing_to_credit(int) {
  throw InvalidPlan(programs_.shape().algorithm +
                    ": a message is credited that was not received: `weft verify` says where");
}

// All own puts have been read.
void TimeDomain::flush(int rank) {
  wait_until(rank, state(rank).puts_read, state(rank).puts_depth);
}

}  // namespace weft::cost

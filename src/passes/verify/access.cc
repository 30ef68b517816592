// Operands: where they are, and what reading or writing them requires.
#include "passes/verify/value_domain.h"

namespace weft::verifier {
namespace {

std::string name(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

// The first cell of an input or output operand's current chunk.
bool ValueDomain::place_of(int rank, const Operand& operand, std::size_t& first) {
  const Cursor& cursor = state(rank).cursor;
  int owner = peer_of(rank, operand.rank), block = peer_of(rank, operand.range.block);
  const Scenario& call = scenario(rank);
  const Scenario& sums = variables(rank);
  if (sums.size(owner, operand.range, cursor.round()) != state(rank).sum) {
    std::size_t size = call.size(owner, operand.range, cursor.round());
    fault(Fault::kMalformed, rank,
          "an operand has " + std::to_string(size) + " elements and the step's range " +
              std::to_string(cursor.extent()) +
              (size == cursor.extent() ? ": equal in this call, not for all counts" : ""));
    return false;
  }
  // A rank computes the place from its own counts: it is told where a buffer begins, no more.
  if (sums.part(owner, operand.buffer).offset(block) !=
      sums.part(rank, operand.buffer).offset(block)) {
    fault(Fault::kMalformed, rank,
          name(owner) + "'s block " + std::to_string(block) +
              " begins elsewhere than the own one, "
              "which this rank cannot know: reach into buffers only where all ranks' counts agree");
    return false;
  }
  first = first_cell(rank, operand);
  return true;
}

// The same, for a step that needs it to be in reach.
bool ValueDomain::locate(int rank, const Operand& operand, std::size_t& first) {
  if (!place_of(rank, operand, first)) return false;
  int owner = peer_of(rank, operand.rank);
  if (owner == rank ||
      state(rank).announced[static_cast<std::size_t>(owner)] == state(rank).run + 1)
    return true;
  fault(Fault::kRace, rank,
        "reaches into a buffer of " + name(owner) +
            " before a message without payload from it said that it is "
            "ready, and where");
  return true;
}

bool ValueDomain::load(int rank, const Operand& operand, std::vector<Value>& values) {
  if (operand.buffer == Buffer::kSlot) return load_slot(rank, operand, values);
  std::size_t first = 0;
  return locate(rank, operand, first) && load_cells(rank, first, values);
}

bool ValueDomain::load_cells(int rank, std::size_t first, std::vector<Value>& values) {
  Memory& memory = memory_of(rank);
  std::size_t count = state(rank).cursor.span().count;
  values.clear();
  Conflict conflict;
  for (std::size_t i = first; i < first + count; ++i) {
    if (Conflict found = memory.read(memory[i], now(rank), clocks_)) conflict = found;
    values.push_back(memory[i].value);
  }
  if (conflict) report_race(rank, "reads", conflict);
  return true;
}

bool ValueDomain::load_slot(int rank, const Operand& operand, std::vector<Value>& values) {
  int from = peer_of(rank, operand.rank);
  std::size_t count = state(rank).cursor.span().count;
  auto complain = [&](Fault kind, const std::string& why) {
    fault(kind, rank,
          "reads the slot of " + name(from) + " on channel " + std::to_string(operand.channel) +
              ", " + why);
    return false;
  };
  const execute::Stream& in = streams_[streams_.find(from, rank, operand.channel)];
  if (in.first == in.waited)
    return complain(Fault::kSlotReuse, "which it has not received or has credited");
  const Entry& entry = streams_.entry(in.first);
  Message& message = messages_[entry.message];
  if (message.bare())
    return complain(Fault::kSlotReuse, "but no payload came with " + where(message.event));
  if (!same_size(rank, message)) return false;
  if (message.count != count)
    return complain(Fault::kMalformed, std::to_string(count) + " elements of the " +
                                           std::to_string(message.count) + " sent at " +
                                           where(message.event));
  if (message.stale)
    complain(Fault::kPutSource, "whose source may have been written since " + where(message.event));
  Destination& destination = message.destinations[entry.destination];
  destination.last = now(rank);
  if (destination.delivered) return load_cells(rank, destination.target, values);
  values = message.values;
  return true;
}

void ValueDomain::store(int rank, const Operand& operand, const std::vector<Value>& values) {
  if (operand.buffer == Buffer::kSlot) return fill(rank, operand.channel, values);
  std::size_t first = 0;
  if (locate(rank, operand, first)) store_cells(rank, first, values);
}

void ValueDomain::fill(int rank, int channel, const std::vector<Value>& values) {
  auto c = static_cast<std::size_t>(channel);
  OwnSlot& slot = state(rank).slots[c];
  if (slot.filled)
    fault(Fault::kSlotReuse, rank,
          "fills the slot of channel " + std::to_string(channel) +
              " again, before what was filled at " + where(slot.event) + " is sent");
  slot.filled = true;
  slot.event = state(rank).event;
  slot.extent = state(rank).cursor.extent();
  slot.sum = state(rank).sum;
  slot.values = values;
  if (plan(rank).shape.channels[c].width == Width::kWide) return;
  for (Value& value : slot.values) value = trees_.rounded(value);
}

void ValueDomain::store_cells(int rank, std::size_t first, const std::vector<Value>& values) {
  Memory& memory = memory_of(rank);
  Conflict conflict;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Cell& cell = memory[first + i];
    release_puts(rank, cell);
    if (Conflict found = memory.write(cell, now(rank), clocks_)) conflict = found;
    cell.value = trees_.rounded(values[i]);
    cell.writer = state(rank).event;
  }
  if (conflict) report_race(rank, "writes", conflict);
}

void ValueDomain::report_race(int rank, const std::string& does, const Conflict& conflict) {
  std::string other = name(conflict.with.rank);
  if (conflict.with.event == kNoEvent)
    return fault(Fault::kRace, rank, does + " a buffer of " + other + " before its call");
  if (position(conflict.with.event).step == RankPosition::kEnd)
    return fault(Fault::kRace, rank,
                 does + " a buffer that " + other + " may have given back to its caller");
  fault(Fault::kRace, rank,
        does + " what " + other + (conflict.write ? " writes" : " reads") + ", in no order, at " +
            where(conflict.with.event));
}

// True if somebody may read the payload of this put after what `rank` does now.
bool ValueDomain::may_be_read(int rank, const Message& message, int& reader) const {
  if (message.flush.rank >= 0) {
    reader = message.rank;
    return !clocks_.covers(rank, message.flush);
  }
  for (const Destination& one : message.destinations) {
    reader = one.last.rank;
    if (one.last.time == 0 || !clocks_.covers(rank, one.last)) return true;
  }
  return false;
}

// Before a cell is written: the puts from it must be over.
bool ValueDomain::release_puts(int rank, Cell& cell) {
  bool free = true;
  memory_of(rank).take_puts(cell, [&](MessageId id) {
    Message& message = messages_[id];
    message.stale = true;
    int reader = 0;
    if (!free || !may_be_read(rank, message, reader)) return;
    free = false;
    fault(Fault::kPutSource, rank,
          "writes the source of a put that " + name(reader) + " may still read, put at " +
              where(message.event));
  });
  return free;
}

bool ValueDomain::same_cells(int rank, const Operand& a, const Operand& b) {
  if (a.buffer == Buffer::kSlot || b.buffer == Buffer::kSlot) return false;
  return first_cell(rank, a) == first_cell(rank, b);
}

std::size_t ValueDomain::first_cell(int rank, const Operand& operand) {
  const Cursor& cursor = state(rank).cursor;
  int owner = peer_of(rank, operand.rank), block = peer_of(rank, operand.range.block);
  std::size_t offset = scenario(rank).part(owner, operand.buffer).offset(block);
  return memory_of(rank).address(owner, operand.buffer, offset + cursor.span().first);
}

}  // namespace weft::verifier

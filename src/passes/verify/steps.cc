// The step table: what each verb does to messages, slots and memory.
#include <algorithm>
#include <span>
#include <utility>

#include "passes/verify/value_domain.h"

namespace weft::verifier {

// Rounds values_ for all destinations if one of them is a narrow slot.
bool ValueDomain::narrow(int rank) {
  const std::vector<Channel>& channels = plan(rank).shape.channels;
  const auto is_narrow = [&](const Operand& operand) {
    return operand.buffer == Buffer::kSlot && channels[operand.channel].width == Width::kNarrow;
  };
  const std::vector<Operand>& dst = state(rank).cursor.step()->dst;
  if (std::none_of(dst.begin(), dst.end(), is_narrow)) return false;
  for (Value& value : values_) value = trees_.narrowed(value);
  return true;
}

void ValueDomain::copy(int rank) {
  const Step& step = *state(rank).cursor.step();
  if (!load(rank, step.src[0], values_)) return;
  const bool rounds = narrow(rank);
  for (const Operand& operand : step.dst)
    // Copying an element onto itself, as happens in place, writes nothing.
    if (rounds || !same_cells(rank, operand, step.src[0])) store(rank, operand, values_);
}

void ValueDomain::reduce(int rank) {
  const Step& step = *state(rank).cursor.step();
  const std::size_t sources = step.src.size(), width = state(rank).cursor.span().count;
  terms_.resize(sources * width);  // by element, then by source
  for (std::size_t i = 0; i < sources; ++i) {
    if (!load(rank, step.src[i], values_)) return;
    for (std::size_t k = 0; k < width; ++k) {
      rounds_partials_ = rounds_partials_ || trees_.is_rounded(values_[k].tree);
      terms_[k * sources + i] = values_[k];
    }
  }
  for (std::size_t k = 0; k < width; ++k) {
    std::span<const Value> terms(terms_.data() + k * sources, sources);
    values_[k] = step.tree ? trees_.balanced(terms) : trees_.from_left(terms);
    if (step.last) values_[k] = trees_.scaled(values_[k]);
  }
  narrow(rank);
  for (const Operand& operand : step.dst) store(rank, operand, values_);
}

// Whether the step under way has as many elements as another step, for all counts. Only then do
// both have equally many chunks in every call.
bool ValueDomain::same_size(int rank, std::size_t extent, Sum sum, const std::string& other,
                            Event event) {
  const Cursor& cursor = state(rank).cursor;
  if (state(rank).sum == sum) return true;
  const std::string mine = std::to_string(cursor.extent()), theirs = std::to_string(extent);
  fault(Fault::kMalformed, rank,
        "goes with " + mine + " elements, but " + other + " with " + theirs + " at " +
            where(event) + (mine == theirs ? ": equal in this call, not for all counts" : ""));
  return false;
}

bool ValueDomain::same_size(int rank, const Message& message) {
  return same_size(rank, message.extent, message.sum,
                   "rank " + std::to_string(message.rank) + " sent", message.event);
}

Message ValueDomain::message_of(int rank) const {
  const Cursor& cursor = state(rank).cursor;
  Message message;
  message.rank = rank;
  message.channel = cursor.step()->channel;
  message.run = static_cast<int>(state(rank).run);
  message.event = state(rank).event;
  message.extent = cursor.extent();
  message.sum = state(rank).sum;
  for (const Index& peer : cursor.step()->peers)
    message.destinations.push_back({{peer_of(rank, peer), 0, 0}});
  return message;
}

void ValueDomain::send(int rank, Message message) {
  message.clock = clocks_.send(rank);
  const auto id = static_cast<MessageId>(messages_.size());
  const bool lazy = message.payload == Payload::kLazy;
  if (lazy) state(rank).puts.push_back(id);
  messages_.push_back(std::move(message));
  execute::Machine<ValueDomain, Types>::send(rank, lazy, [&](std::size_t i, std::int32_t number) {
    Entry& entry = streams_.entry(number);
    entry.message = id;
    entry.destination = static_cast<std::uint32_t>(i);
    show(entry);
  });
}

void ValueDomain::put(int rank) {
  const Step& step = *state(rank).cursor.step();
  OwnSlot& slot = state(rank).slots[step.channel];
  if (slot.filled)
    fault(Fault::kSlotReuse, rank,
          "sends on a channel whose slot was filled at " + where(slot.event) + " and not sent");
  slot.filled = false;
  Message message = message_of(rank);
  message.payload = Payload::kLazy;
  message.count = state(rank).cursor.span().count;
  if (!locate(rank, step.src[0], message.source) || !load_cells(rank, message.source, values_))
    return;
  message.values = values_;
  auto id = static_cast<MessageId>(messages_.size());
  Memory& memory = memory_of(rank);
  for (std::size_t i = 0; i < message.count; ++i) memory.add_put(memory[message.source + i], id);
  if (!step.dst.empty() && scenario(rank).symmetric && !deliver(rank, step, message)) return;
  send(rank, std::move(message));
}

// Writes a put's payload into the outputs of those that have said where they are.
bool ValueDomain::deliver(int rank, const Step& step, Message& message) {
  Memory& memory = memory_of(rank);
  for (std::size_t i = 0; i < step.dst.size(); ++i) {
    Destination& destination = message.destinations[i];
    auto owner = static_cast<std::size_t>(destination.last.rank);
    if (state(rank).heard[owner] != state(rank).run + 1) continue;
    if (!place_of(rank, step.dst[i], destination.target)) return false;
    destination.delivered = true;
    store_cells(rank, destination.target, message.values);
    for (std::size_t k = 0; k < message.count; ++k)
      memory[destination.target + k].delivery = static_cast<MessageId>(messages_.size());
  }
  return true;
}

void ValueDomain::signal(int rank) {
  Message message = message_of(rank);
  OwnSlot& slot = state(rank).slots[static_cast<std::size_t>(message.channel)];
  if (slot.filled && !same_size(rank, slot.extent, slot.sum, "its slot was filled", slot.event))
    return;
  if (slot.filled) {
    message.payload = Payload::kSlot;
    message.values = slot.values;
    message.count = slot.values.size();
  }
  slot.filled = false;
  send(rank, std::move(message));
}

void ValueDomain::wait(int rank, std::int32_t number) {
  const Entry& entry = streams_.entry(number);
  Message& message = messages_[entry.message];
  const int from = message.rank;
  ++state(rank).held;
  clocks_.receive(rank, message.clock);
  message.destinations[entry.destination].last = now(rank);
  if (message.run != static_cast<int>(state(rank).run)) {
    fault(Fault::kContract, rank,
          "takes a message of another collective, sent at " + where(message.event));
    stopped_ = true;
  } else if (!same_size(rank, message)) {
    return;
  }
  state(rank).heard[static_cast<std::size_t>(from)] = state(rank).run + 1;
  if (message.bare()) state(rank).announced[static_cast<std::size_t>(from)] = state(rank).run + 1;
  if (message.destinations[entry.destination].delivered)
    accept_put(rank, entry.message, message.destinations[entry.destination].target);
}

// A payload put into an output has certainly arrived when the owner has the message, not before.
void ValueDomain::accept_put(int rank, MessageId id, std::size_t target) {
  const Message& message = messages_[id];
  Memory& memory = memory_of(rank);
  for (std::size_t i = 0; i < message.count; ++i) {
    Cell& cell = memory[target + i];
    if (cell.delivery != id) continue;  // overwritten, which was a race
    cell.delivery = kNone;
    cell.write = now(rank);
  }
}

bool ValueDomain::credit(int rank, std::int32_t entry) {
  if (!same_size(rank, message(entry))) return false;
  --state(rank).held;
  return true;
}

void ValueDomain::nothing_to_credit(int rank) {
  const execute::Stream& in = streams_[at_[0]];
  fault(Fault::kContract, rank,
        "credits a message of rank " + std::to_string(in.from) + " on channel " +
            std::to_string(in.channel) + ", but all that it received are credited");
}

// All of the rank's puts are read for good.
void ValueDomain::flush(int rank) {
  for (MessageId id : state(rank).puts) messages_[id].flush = now(rank);
  state(rank).puts.clear();
}

}  // namespace weft::verifier

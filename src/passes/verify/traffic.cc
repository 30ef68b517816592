#include "passes/verify/traffic.h"

#include <utility>

namespace weft::verifier {

Traffic::Traffic(int ranks, int channels)
    : ranks_(static_cast<std::size_t>(ranks)),
      streams_(static_cast<std::size_t>(channels) * ranks_ * ranks_),
      senders_(ranks_) {}

void Traffic::begin_run(int rank, const std::vector<Channel>& channels) {
  Sender& own = sender(rank);
  own.earlier = own.sent.size();
  own.puts.clear();
  own.turns.assign(channels.size(), {});
  for (std::size_t c = 0; c < channels.size(); ++c) {
    auto slots = static_cast<std::size_t>(channels[c].slots);
    for (std::size_t slot = 0; slot < slots; ++slot) own.turns[c].returned.push_back(slot);
  }
}

Hold Traffic::receive_hold(int rank, int from, int channel) {
  const Stream& in = stream(from, rank, channel);
  if (in.waited < in.entries.size()) return {};
  return {Hold::kMessage, from, channel};
}

Hold Traffic::mailbox_hold(int rank, int to, int channel) {
  const Stream& out = stream(rank, to, channel);
  if (out.entries.size() - out.credited < kMailboxDepth) return {};
  return {Hold::kMailbox, to, channel};
}

Hold Traffic::returned_hold(MessageId id, Hold::Why why) const {
  const Message& message = messages_[id];
  if (message.outstanding == 0) return {};
  for (const Reader& reader : message.readers)
    if (!reader.credited) return {why, reader.last.rank, message.channel};
  return {};
}

Hold Traffic::slot_hold(int rank, int channel) {
  Sender& own = sender(rank);
  // Which bytes an earlier plan's slots were is not known here: all of them must be back.
  for (; own.returned < own.earlier; ++own.returned)
    if (Hold hold = returned_hold(own.sent[own.returned], Hold::kSlot)) return hold;
  auto& turn = own.turns[static_cast<std::size_t>(channel)];
  std::size_t slots = turn.returned.size(), number = turn.sent.size();
  // Every message that used this slot, not the last alone: one without payload in between
  // may have gone to others and be back first.
  std::size_t& first = turn.returned[number % slots];
  for (; first < number; first += slots)
    if (Hold hold = returned_hold(turn.sent[first], Hold::kSlot)) return hold;
  return {};
}

Hold Traffic::flush_hold(int rank) {
  for (MessageId id : sender(rank).puts)
    if (Hold hold = returned_hold(id, Hold::kFlush)) return hold;
  return {};
}

MessageId Traffic::post(Message message) {
  auto id = static_cast<MessageId>(messages_.size());
  Sender& own = sender(message.rank);
  own.sent.push_back(id);
  own.turns[static_cast<std::size_t>(message.channel)].sent.push_back(id);
  if (message.payload == Payload::kLazy) own.puts.push_back(id);
  message.outstanding = static_cast<int>(message.readers.size());
  for (std::uint32_t i = 0; i < message.readers.size(); ++i)
    stream(message.rank, message.readers[i].last.rank, message.channel).entries.push_back({id, i});
  messages_.push_back(std::move(message));
  return id;
}

void Traffic::flush(int rank, const Access& by) {
  for (MessageId id : sender(rank).puts) messages_[id].flush = by;
  sender(rank).puts.clear();
}

void Traffic::credit(int rank, int from, int channel) {
  Stream& in = stream(from, rank, channel);
  auto entry = in.entries[in.credited++];
  messages_[entry.message].readers[entry.reader].credited = true;
  --messages_[entry.message].outstanding;
}

}  // namespace weft::verifier

#include "passes/cost/streams.h"

namespace weft::cost {

std::int32_t Streams::find(int from, int to, int channel) {
  const auto key = (static_cast<std::uint64_t>(to) * static_cast<std::uint64_t>(channels_) +
                    static_cast<std::uint64_t>(channel)) *
                       static_cast<std::uint64_t>(ranks_) +
                   static_cast<std::uint64_t>(from);
  std::size_t place = place_of(key);
  if (keys_[place].number != kNone) return keys_[place].number;
  if (2 * streams_.size() >= keys_.size()) {
    grow();
    place = place_of(key);
  }
  keys_[place] = {key, static_cast<std::int32_t>(streams_.size())};
  Stream& stream = streams_.emplace_back();
  stream.from = from, stream.to = to, stream.channel = channel;
  stream.way = way_between(routes_, topology_, from, to);
  return keys_[place].number;
}

std::size_t Streams::place_of(std::uint64_t key) const {
  const std::size_t mask = keys_.size() - 1;
  std::size_t place = (((key >> 3) * 0x9E3779B97F4A7C15U >> 20 << 3) + (key & 7)) & mask;
  while (keys_[place].number != kNone && keys_[place].key != key) place = (place + 1) & mask;
  return place;
}

void Streams::grow() {
  std::vector<Key> before(keys_.empty() ? 1024 : 4 * keys_.size());
  before.swap(keys_);
  for (const Key& key : before)
    if (key.number != kNone) keys_[place_of(key.key)] = key;
}

std::int32_t Streams::post(const Entry& entry) {
  std::int32_t number = free_;
  if (number == kNone) {
    number = static_cast<std::int32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = this->entry(number).next;
  }
  this->entry(number) = entry;
  this->entry(number).next = kNone;
  Stream& stream = (*this)[entry.stream];
  if (stream.last != kNone) this->entry(stream.last).next = number;
  stream.last = number;
  if (stream.first == kNone) stream.first = number;
  if (stream.waited == kNone) stream.waited = number;
  return number;
}

void Streams::pop(Stream& stream) {
  const std::int32_t number = stream.first;
  stream.first = entry(number).next;
  if (stream.last == number) stream.last = kNone;
  entry(number).next = free_;
  free_ = number;
}

}  // namespace weft::cost

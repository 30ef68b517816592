// The messages of each (source, destination, channel), in order, in a mailbox of so many entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::execute {

inline constexpr std::int32_t kNone = -1;

// One message to one destination. It is kept until the message that is so many later as the mailbox
// has entries takes its place.
struct Entry {
  std::int32_t next = kNone;  // of the stream
  std::int32_t stream = kNone;
  std::int32_t slot = kNone;  // of the sender: whose turn it was
  bool here = false;          // its reader may take it
  bool unread = false;        // a put whose source may still be read
};

struct Stream {
  int from = 0, to = 0, channel = 0;
  std::int32_t oldest = kNone;  // entry
  std::int32_t first = kNone;   // the oldest that is not credited
  std::int32_t waited = kNone;  // the next to wait for
  std::int32_t last = kNone;
  int entries = 0;
};

// Streams by their ends, found by a hash. What a domain knows of them besides is in its `E` and
// `S`, which derive from the above. References hold until the next find() or post().
template <typename E, typename S>
class Streams {
 public:
  // `depth`: entries of a mailbox.
  Streams(int ranks, int channels, int depth) : ranks_(ranks), channels_(channels), depth_(depth) {
    grow();
    // Most plans never need more: to move millions of entries takes a tenth of a price. Memory that
    // nobody touches costs nothing.
    entries_.reserve(2048 * static_cast<std::size_t>(ranks));
  }

  std::int32_t find(int from, int to, int channel) {
    const std::uint64_t key =
        (number(to) * number(channels_) + number(channel)) * number(ranks_) + number(from);
    std::size_t place = place_of(key);
    if (keys_[place].number != kNone) return keys_[place].number;
    if (2 * streams_.size() >= keys_.size()) {
      grow();
      place = place_of(key);
    }
    keys_[place] = {key, static_cast<std::int32_t>(streams_.size())};
    S& made = streams_.emplace_back();
    made.from = from, made.to = to, made.channel = channel;
    return keys_[place].number;
  }
  S& operator[](std::int32_t stream) { return streams_[static_cast<std::size_t>(stream)]; }
  E& entry(std::int32_t number) { return entries_[static_cast<std::size_t>(number)]; }
  std::int32_t size() const { return static_cast<std::int32_t>(streams_.size()); }

  // Whether the next message finds an entry.
  bool room(const S& stream) const {
    return stream.entries < depth_ || stream.oldest != stream.first;
  }
  // The credited message whose entry the next one takes; null: it gets a new one.
  const E* replaced(const S& stream) {
    return stream.entries < depth_ ? nullptr : &entry(stream.oldest);
  }
  // Appends a message to a stream that has room, in an entry like new.
  std::int32_t post(std::int32_t stream) {
    S& to = (*this)[stream];
    std::int32_t number = to.oldest;
    if (to.entries < depth_) {
      ++to.entries;
      number = static_cast<std::int32_t>(entries_.size());
      entries_.emplace_back();
    } else {
      to.oldest = entry(number).next;
      entry(number) = {};
    }
    entry(number).stream = stream;
    if (to.last != kNone && to.last != number) entry(to.last).next = number;
    to.last = number;
    for (std::int32_t* at : {&to.oldest, &to.first, &to.waited})
      if (*at == kNone) *at = number;
    return number;
  }

 private:
  static std::uint64_t number(int value) { return static_cast<std::uint64_t>(value); }
  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = keys_.size() - 1;
    std::size_t place = (((key >> 3) * 0x9E3779B97F4A7C15U >> 20 << 3) + (key & 7)) & mask;
    while (keys_[place].number != kNone && keys_[place].key != key) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Key> before(keys_.empty() ? 1024 : 4 * keys_.size());
    before.swap(keys_);
    for (const Key& key : before)
      if (key.number != kNone) keys_[place_of(key.key)] = key;
  }

  // Open addressing, at most half full: this is where a large plan's time goes. Messages from ranks
  // with neighbouring numbers lie together, since a rank waits for them in this order.
  struct Key {
    std::uint64_t key = 0;
    std::int32_t number = kNone;  // none: free
  };
  int ranks_, channels_, depth_;
  std::vector<Key> keys_;
  std::vector<S> streams_;
  std::vector<E> entries_;
};

}  // namespace weft::execute

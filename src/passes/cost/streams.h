// The messages of each (source, destination, channel), in order, and the slots they lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes/cost/way.h"

namespace weft::cost {

inline constexpr std::int32_t kNone = -1;

// A message, until it is returned.
struct Entry {
  double arrival = 0;
  double bytes = 0;
  std::int32_t depth = 0;
  std::int32_t stream = kNone;
  std::int32_t slot = kNone;  // of the sender on the channel; none: no payload
  std::int32_t next = kNone;  // of the stream, or of the free ones
  std::int32_t record = 0;    // its number in the timeline
  bool here = false;          // `arrival` is known
  bool placed = false;        // its payload is where its reader will copy it to
  bool lazy = false;          // its source lies in the sender's buffer
};

struct Stream {
  int from = 0, to = 0, channel = 0;
  Way way;
  std::int32_t first = kNone;   // the oldest that is not returned
  std::int32_t waited = kNone;  // the next to wait for
  std::int32_t last = kNone;
  std::int32_t depth = 0;  // of its last message
};

// Streams by their ends, found by a hash. References hold until the next find() or
// post().
class Streams {
 public:
  // Topology and routes outlive it.
  Streams(int ranks, int channels, const Topology& topology, Routes& routes)
      : ranks_(ranks), channels_(channels), topology_(topology), routes_(routes) {
    grow();
  }

  std::int32_t find(int from, int to, int channel);
  Stream& operator[](std::int32_t stream) { return streams_[static_cast<std::size_t>(stream)]; }
  Entry& entry(std::int32_t number) { return entries_[static_cast<std::size_t>(number)]; }

  // Appends a message to its stream.
  std::int32_t post(const Entry& entry);
  // Removes the oldest of a stream.
  void pop(Stream& stream);

 private:
  int ranks_, channels_;
  const Topology& topology_;
  Routes& routes_;
  void grow();
  std::size_t place_of(std::uint64_t key) const;

  // Open addressing, at most half full: this is where a large plan's time goes. What a rank
  // receives from neighbouring numbers lies together, since that is how it waits.
  struct Key {
    std::uint64_t key = 0;
    std::int32_t number = kNone;  // none: free
  };
  std::vector<Key> keys_;
  std::vector<Stream> streams_;
  std::vector<Entry> entries_;
  std::int32_t free_ = kNone;
};

}  // namespace weft::cost

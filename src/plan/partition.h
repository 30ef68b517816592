// How the buffers of one call are cut into blocks and chunks. Shared by the engine
// and the verifier, so that what is proved is what runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "weft/plan.h"

namespace weft {

// A buffer of `total` elements in blocks. Counts and offsets are in elements.
class Partition {
 public:
  Partition() = default;
  // Equal blocks, bounds on multiples of `unit` elements, the last ones shorter or empty.
  static Partition even(std::size_t total, int blocks, std::size_t unit);
  // Exactly `count` elements a block.
  static Partition uniform(std::size_t count, int blocks);
  // counts[i] elements in block i.
  static Partition of(std::span<const std::size_t> counts);

  std::size_t total() const { return total_; }
  std::size_t offset(int block) const {
    return starts_.empty() ? std::min(total_, stride_ * static_cast<std::size_t>(block))
                           : starts_[static_cast<std::size_t>(block)];
  }
  std::size_t size(int block, int blocks) const { return offset(block + blocks) - offset(block); }
  bool operator==(const Partition&) const = default;

 private:
  std::size_t total_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::size_t> starts_;  // only where counts differ: blocks + 1 offsets
};

// Chunks of at most `chunk` elements in a range of `size`: at least one.
inline std::size_t chunks_of(std::size_t size, std::size_t chunk) {
  return size <= chunk ? 1 : (size + chunk - 1) / chunk;
}

// The part of a range that is chunk number `index`: first element and element count.
struct Span {
  std::size_t first;
  std::size_t count;
};
inline Span chunk_of(std::size_t size, std::size_t chunk, std::size_t index) {
  std::size_t first = std::min(size, index * chunk);
  return {first, std::min(chunk, size - first)};
}

}  // namespace weft

// The segments of one peer that one lane has used.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mapping.h"
#include "fabric/shm/remote.h"

namespace weft::shm {

// Not synchronised: it is the endpoint's, whose calls come from one thread at a time. A
// repeated segment costs two compares, another known one a binary search, no lock.
//
// It owns what it has reached, so no mapping goes under its feet. A segment that the peer released
// is dropped when the next new one is reached, but never after the lane has failed. A working peer
// releases only segments that all have finished with. A failed peer may release one that is being
// read here. Such a peer tells the lane that it has failed before it releases anything.
class Reached {
 public:
  explicit Reached(std::shared_ptr<Remote> remote) : remote_(std::move(remote)) {}

  // Endpoint::reach. `failed` is asked only when a new segment has come.
  template <typename Failed>
  std::byte* reach(Location where, std::size_t bytes, Clock::duration patience, Failed failed) {
    const std::uint32_t id = segment_of(where);
    if (last_ >= known_.size() || known_[last_].id != id) {
      if (!find(id)) add(id, patience, failed);
    }
    const Known& known = known_[last_];
    const std::uint64_t offset = offset_of(where);
    if (offset > known.bytes || bytes > known.bytes - offset) outside();
    return known.data + offset;
  }

  Remote& remote() const { return *remote_; }
  bool knows_remote() const { return remote_ != nullptr; }

 private:
  struct Known {
    std::uint32_t id;
    std::byte* data;
    std::size_t bytes;
    std::shared_ptr<Mapping> mapping;
  };

  template <typename Failed>
  void add(std::uint32_t id, Clock::duration patience, Failed failed) {
    auto mapping = remote_->segment(id, Clock::now() + patience);
    // Asked last, since the peer may fail while its answer is awaited.
    std::vector<Known> kept = not_released();
    if (!failed()) known_ = std::move(kept);
    insert(id, std::move(mapping));
  }

  bool find(std::uint32_t id);
  std::vector<Known> not_released() const;
  void insert(std::uint32_t id, std::shared_ptr<Mapping> mapping);
  [[noreturn]] static void outside();

  std::shared_ptr<Remote> remote_;
  std::vector<Known> known_;  // by id
  std::size_t last_ = 0;      // place of the last one used
};

}  // namespace weft::shm

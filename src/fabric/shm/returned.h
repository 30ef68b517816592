// Slots of this rank in which its peers send messages.
#pragma once

#include <cstddef>
#include <memory>

#include "fabric/location.h"
#include "fabric/segments.h"
#include "weft/error.h"

namespace weft::shm {

// The own segment that was used last. One thread at a time.
class Returned {
 public:
  explicit Returned(std::shared_ptr<Segments> segments) : segments_(std::move(segments)) {}

  // Throws InternalError if the place is none of this rank's.
  std::byte* at(Location where, std::size_t bytes) {
    const std::uint32_t id = segment_of(where);
    if (id != id_) {
      segment_ = segments_->find(id);
      id_ = segment_ ? id : 0;
    }
    const std::uint64_t offset = offset_of(where);
    if (!segment_ || offset > segment_->mapping->bytes() ||
        bytes > segment_->mapping->bytes() - offset)
      throw InternalError("a peer returns a slot that is none of this rank's");
    return segment_->mapping->data() + offset;
  }

 private:
  const std::shared_ptr<Segments> segments_;
  std::uint32_t id_ = 0;
  std::shared_ptr<const Segment> segment_;
};

}  // namespace weft::shm

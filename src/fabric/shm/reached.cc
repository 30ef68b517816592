#include "fabric/shm/reached.h"

#include <algorithm>

#include "weft/error.h"

namespace weft::shm {

bool Reached::find(std::uint32_t id) {
  const auto place =
      std::lower_bound(known_.begin(), known_.end(), id,
                       [](const Known& known, auto wanted) { return known.id < wanted; });
  last_ = static_cast<std::size_t>(place - known_.begin());
  return place != known_.end() && place->id == id;
}

void Reached::add(std::uint32_t id, Clock::duration patience, bool drop_released) {
  auto mapping = remote_->segment(id, Clock::now() + patience);
  if (drop_released) {
    std::erase_if(known_, [](const Known& known) { return known.mapping->released(); });
  }
  find(id);
  std::byte* const data = mapping->data();
  const std::size_t bytes = mapping->bytes();
  known_.insert(known_.begin() + static_cast<std::ptrdiff_t>(last_),
                {id, data, bytes, std::move(mapping)});
}

void Reached::outside() {
  throw InternalError("a peer named memory outside of its symmetric segment");
}

}  // namespace weft::shm

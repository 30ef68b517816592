#include "fabric/shm/reached.h"

#include <algorithm>
#include <iterator>

#include "weft/error.h"

namespace weft::shm {

bool Reached::find(std::uint32_t id) {
  const auto place =
      std::lower_bound(known_.begin(), known_.end(), id,
                       [](const Known& known, auto wanted) { return known.id < wanted; });
  last_ = static_cast<std::size_t>(place - known_.begin());
  return place != known_.end() && place->id == id;
}

std::vector<Reached::Known> Reached::not_released() const {
  std::vector<Known> kept;
  std::ranges::copy_if(known_, std::back_inserter(kept),
                       [](const Known& known) { return !known.mapping->released(); });
  return kept;
}

void Reached::insert(std::uint32_t id, std::shared_ptr<Mapping> mapping) {
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

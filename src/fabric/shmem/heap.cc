#include "fabric/shmem/heap.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "fabric/shmem/library.h"
#include "weft/error.h"

namespace weft::shmem {
namespace {

// Empty: more than there are addresses.
std::optional<std::size_t> whole_pages(std::size_t bytes) {
  constexpr std::size_t rest = Heap::kPage - 1;
  if (bytes > std::numeric_limits<std::size_t>::max() - rest) return std::nullopt;
  return (bytes + rest) / Heap::kPage * Heap::kPage;
}

}  // namespace

std::unique_ptr<Heap> Heap::allocate(Shmem& shmem, std::size_t bytes) {
  const std::string variable = shmem.heap_variable();
  const std::size_t pages = whole_pages(bytes).value_or(0);
  void* const data = pages != 0 ? shmem.allocate(pages) : nullptr;
  if (data) {
    return std::make_unique<Heap>(static_cast<std::byte*>(data), pages,
                                  "set " + variable + " to more than " + std::to_string(pages));
  }
  const std::size_t there = shmem.heap_bytes();
  throw Unsupported("shmem: " + std::to_string(bytes) + " bytes wanted, the symmetric heap has " +
                    (there == 0 ? "less" : std::to_string(there)) +
                    "; make it larger on all ranks: oshrun -x " + variable + "=BYTES");
}

Heap::Heap(std::byte* data, std::size_t bytes, std::string remedy)
    : data_(data), bytes_(bytes / kPage * kPage), remedy_(std::move(remedy)) {
  if (reinterpret_cast<std::uintptr_t>(data) % kPage != 0) {
    throw InternalError("shmem: the heap does not begin at a page");
  }
  if (bytes_ != 0) free_[0] = bytes_;
}

std::byte* Heap::take(std::size_t bytes) {
  if (bytes == 0) throw InvalidArgument("shmem: a block of 0 bytes");
  const std::size_t pages = whole_pages(bytes).value_or(0);
  const std::lock_guard lock(mutex_);
  const auto place = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& one) { return one.second >= pages; });
  if (pages == 0 || place == free_.end()) throw Unsupported(full(bytes));
  const auto [offset, room] = *place;
  free_.erase(place);
  if (room > pages) free_[offset + pages] = room - pages;
  taken_[offset] = pages;
  return data_ + offset;
}

void Heap::release(const void* block) {
  const std::lock_guard lock(mutex_);
  // Of any pointer, also one below the heap: then the difference is beyond all offsets.
  const auto offset =
      reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(data_);
  const auto found = taken_.find(offset);
  if (found == taken_.end()) {
    throw InternalError("shmem: a block is released that was not taken, or released before");
  }
  auto place = free_.emplace(*found).first;
  taken_.erase(found);
  if (const auto next = std::next(place);
      next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place == free_.begin()) return;
  const auto before = std::prev(place);
  if (before->first + before->second != place->first) return;
  before->second += place->second;
  free_.erase(place);
}

std::optional<std::size_t> Heap::offset_of(const void* data, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(data_);
  auto block = taken_.upper_bound(offset);
  if (block == taken_.begin()) return std::nullopt;
  --block;
  const std::size_t into = offset - block->first;
  if (into >= block->second || bytes > block->second - into) return std::nullopt;
  return offset;
}

std::byte* Heap::at(std::size_t offset, std::size_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset) {
    throw InternalError("shmem: " + std::to_string(bytes) + " bytes at offset " +
                        std::to_string(offset) + " lie outside of the heap of " +
                        std::to_string(bytes_));
  }
  return data_ + offset;
}

std::size_t Heap::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return locked_free();
}

std::size_t Heap::largest() const {
  const std::lock_guard lock(mutex_);
  return locked_largest();
}

std::size_t Heap::locked_free() const {
  std::size_t sum = 0;
  for (const auto& [offset, room] : free_) sum += room;
  return sum;
}

std::size_t Heap::locked_largest() const {
  std::size_t most = 0;
  for (const auto& [offset, room] : free_) most = std::max(most, room);
  return most;
}

std::string Heap::full(std::size_t wanted) const {
  return "shmem: " + std::to_string(wanted) + " bytes of symmetric memory wanted, " +
         std::to_string(locked_largest()) + " are free in one piece (" +
         std::to_string(locked_free()) + " of " + std::to_string(bytes_) + " in all); " + remedy_;
}

}  // namespace weft::shmem

// The symmetric memory of one rank on OpenSHMEM: one block, which all PEs allocate together at the
// start. Each PE parcels out its own afterwards, without asking the others.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace weft::shmem {

class Shmem;

// Places are offsets from the begin of the heap, in bytes. A peer's heap has the same size, so that
// a peer's offset is good here for puts to that peer. Which places are in use differs by PE.
//
//   0                                                bytes()
//   | taken | free | taken | taken |      free       |        blocks of whole pages, first fit
//
// Thread safe.
class Heap {
 public:
  static constexpr std::size_t kPage = 4096;

  // Takes `bytes`, in whole pages, of the library's heap. Collective, with equal arguments. Throws
  // Unsupported, with the sizes and the remedy, if there is not so much. The memory stays allocated
  // until OpenSHMEM ends, since to free it would be collective, too.
  static std::unique_ptr<Heap> allocate(Shmem& shmem, std::size_t bytes);
  // Parcels out [data, data + bytes). `data` is aligned to a page. `remedy` ends the message of an
  // error when the heap is full: what makes it larger.
  Heap(std::byte* data, std::size_t bytes, std::string remedy);

  // A block of at least `bytes`, aligned to a page. Throws InvalidArgument for 0 bytes,
  // Unsupported if there is no free place of this length.
  std::byte* take(std::size_t bytes);
  // Gives back what take() returned; its neighbours that are free become one place with it. Throws
  // InternalError, and changes nothing, if no block begins there: given back before, or never
  // taken.
  void release(const void* block);

  // The offset of [data, data + bytes) if it lies in one taken block; else empty.
  std::optional<std::size_t> offset_of(const void* data, std::size_t bytes) const;
  // The address of [offset, offset + bytes) of a peer's heap, as OpenSHMEM names it: where this PE
  // has that offset. Throws InternalError if it does not lie in the heap.
  std::byte* at(std::size_t offset, std::size_t bytes) const;

  std::size_t bytes() const { return bytes_; }
  std::size_t free_bytes() const;
  // Of the longest place that is free.
  std::size_t largest() const;

 private:
  std::string full(std::size_t wanted) const;
  std::size_t locked_free() const;
  std::size_t locked_largest() const;

  std::byte* const data_;
  const std::size_t bytes_;
  const std::string remedy_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_, taken_;  // offset: bytes
};

}  // namespace weft::shmem

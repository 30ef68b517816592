// A piece of shared memory mapped into this process.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/unique_fd.h"

namespace weft {

// Memory of the length `bytes` (whole pages), zeroed, with no name in any file system: gone
// with its last descriptor and mapping. Sealed, so that it never shrinks under a peer that
// reads it. Throws Unsupported.
UniqueFd make_memory(std::size_t bytes);
// Gives the pages of such memory back to the system. A process that still maps it reads zeros.
void discard_memory(int fd, std::size_t bytes);
// Replaces the mapping of such memory, from `offset` on, at `data` by one whose writes stay in this
// process. Only makes system calls, so that it may run between fork and exec.
void make_private(int fd, std::size_t offset, std::byte* data, std::size_t bytes);
// Puts pages of this process alone, with the same content, in the place of mapped ones. False: the
// system has no more.
bool replace_pages(std::byte* data, std::size_t bytes);
// What processors map with one entry where memory begins at a multiple of it.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
// `bytes` in whole pages, at least one.
std::size_t whole_pages(std::size_t bytes);

class Mapping {
 public:
  // Maps `bytes` of `fd` from `offset` on, a multiple of a page. Throws Unsupported if it cannot,
  // or if the memory is not sealed or shorter.
  static std::shared_ptr<Mapping> of(int fd, std::size_t bytes, std::size_t offset = 0);
  ~Mapping();
  Mapping(const Mapping&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // The owner has released the segment: nothing new will be found in it.
  // release: what the owner stored before, such as its abort, is seen by who sees this.
  void mark_released() { released_.store(true, std::memory_order_release); }
  // acquire: pairs with the release in mark_released().
  bool released() const { return released_.load(std::memory_order_acquire); }

 private:
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_;
  std::size_t bytes_;
  std::atomic<bool> released_{false};
};

}  // namespace weft

// Bytes from one PE to another, in order, through a ring in the reader's heap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/shmem/library.h"

namespace weft::shmem {

// In the heap of the rank that reads it. Counts begin at 0 and only grow.
struct alignas(64) Counts {
  std::atomic<std::uint64_t> put;                // bytes that the peer has put here
  alignas(64) std::atomic<std::uint64_t> taken;  // of what this rank has put to the peer

  void clear() {
    put.store(0, std::memory_order_relaxed);
    taken.store(0, std::memory_order_relaxed);
  }
};
template <std::size_t kSize>
struct Pipe {
  static constexpr std::size_t kBytes = kSize;
  Counts counts;
  alignas(64) std::byte data[kBytes];
};

// What a lane has for each member, in this order.
struct Pipes {
  Pipe<std::size_t{32} << 10> mail;
  Pipe<std::size_t{128} << 10> payloads;
  alignas(64) std::atomic<std::uint64_t> come;  // to the library's own collectives, see natives.h
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Both directions between this rank and one peer. It stores into the peer's heap where that is
// mapped here; else it puts, and then adds to the peer's count. Calls hold the mutex of the
// library. No call waits for the peer, as far as OpenSHMEM's put does not.
class Duplex {
 public:
  // `in`: the own pipe, which the peer fills.
  template <std::size_t kBytes>
  Duplex(Shmem& shmem, int pe, Pipe<kBytes>* in)
      : shmem_(shmem), pe_(pe), bytes_(kBytes), in_(&in->counts), in_data_(in->data) {}

  // `out`: the peer's pipe for this rank, at its place in the own heap.
  template <typename Pipe>
  void join(Pipe* out) {
    join(&out->counts, out->data);
  }
  // Whether this rank maps the peer's heap.
  bool near() const { return near_.counts != nullptr; }

  // Bytes that may be written.
  std::size_t room() const;
  // REQUIRES `bytes` of room. They may change when it returns.
  void write(const void* data, std::size_t bytes);
  // Bytes written so far.
  std::uint64_t written() const { return written_; }
  // Whether the peer has taken the first so many of them, or all.
  bool taken(std::uint64_t bytes) const {
    return in_->taken.load(std::memory_order_acquire) >= bytes;
  }
  bool all_taken() const { return taken(written_); }

  // Bytes that may be read.
  std::size_t waiting() const;
  void read(void* into, std::size_t bytes);
  // Tells the peer what was read.
  void tell();
  // The same, if the peer may wait for it.
  void tell_if_due();

 private:
  struct End {
    Counts* counts = nullptr;
    std::byte* data = nullptr;
  };

  void join(Counts* counts, std::byte* data);

  Shmem& shmem_;
  const int pe_;
  const std::size_t bytes_;
  Counts* const in_;
  const std::byte* const in_data_;
  End out_;   // as OpenSHMEM names it
  End near_;  // the same, where this rank maps it
  std::uint64_t written_ = 0, read_ = 0, told_ = 0;
};

}  // namespace weft::shmem

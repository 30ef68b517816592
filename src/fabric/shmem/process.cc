#include "fabric/shmem/process.h"

#include <algorithm>
#include <cstddef>

namespace weft::shmem {
namespace {

// Pages that nobody writes take no memory.
constexpr std::size_t kHeap = std::size_t{1} << 30;
// Of a heap that the user has sized, for the library's own blocks.
constexpr std::size_t kRest = std::size_t{1} << 20;

Heap& make_heap(Shmem& shmem) {
  const std::size_t there = shmem.heap_bytes();
  return *Heap::allocate(shmem, there > 2 * kRest ? there - kRest : kHeap).release();
}

}  // namespace

const Process& process() {
  static const Process& made = *[] {
    Shmem& shmem = Shmem::start(kHeap);
    Heap& heap = make_heap(shmem);
    std::byte* const common = heap.take(kCommon);
    // The work arrays of the library's collectives lie first.
    std::fill_n(reinterpret_cast<long*>(common), 2 * kSyncElements, shmem.sync_value().value_or(0));
    return new Process{shmem, heap, *new std::mutex, common};
  }();
  return made;
}

}  // namespace weft::shmem

#include "fabric/shmem/process.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "fabric/mail/library_mutex.h"

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

// All PEs get PE 0's token.
mail::Job join(Shmem& shmem, std::byte* place) {
  const Token token = Token::random();
  shmem.barrier();
  for (int pe = 0; shmem.pe() == 0 && pe < shmem.pes(); ++pe)
    shmem.put(place, token.bytes.data(), token.bytes.size(), pe);
  shmem.barrier();
  mail::Job job{token, shmem.pe()};
  std::memcpy(job.id.bytes.data(), place, job.id.bytes.size());
  return job;
}

}  // namespace

const Process& process() {
  static const Process& made = *[] {
    const std::lock_guard lock(mail::library_mutex());
    Shmem& shmem = Shmem::start(kHeap);
    Heap& heap = make_heap(shmem);
    std::byte* const common = heap.take(kCommon);
    // The work arrays of the library's collectives lie first.
    std::fill_n(reinterpret_cast<long*>(common), 2 * kSyncElements, shmem.sync_value().value_or(0));
    const mail::Job job = join(shmem, common + kCommon - sizeof(Token));
    return new Process{shmem, heap, mail::library_mutex(), common, job};
  }();
  return made;
}

}  // namespace weft::shmem

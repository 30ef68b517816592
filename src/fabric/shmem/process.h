// What all fabrics over OpenSHMEM share in one process: the library, and its heap.
#pragma once

#include <cstddef>
#include <mutex>

#include "fabric/mail/mail_fabric.h"
#include "fabric/shmem/heap.h"
#include "fabric/shmem/library.h"

namespace weft::shmem {

inline constexpr std::size_t kCommon = std::size_t{8} << 20;

// Made by the first fabric, which all PEs make together, and never destroyed.
struct Process {
  Shmem& shmem;
  Heap& heap;
  std::mutex& mutex;  // mail::library_mutex()
  // kCommon bytes of the heap, at the same place on all PEs: first the work arrays of the library's
  // own collectives (natives.cc), in the end the token of the job.
  std::byte* common;
  mail::Job job;
};

// Throws what Shmem::start() and Heap::allocate() throw.
const Process& process();

}  // namespace weft::shmem

// The lock around the library that carries the mail.
#pragma once

#include <mutex>

namespace weft::mail {

// One for MPI and OpenSHMEM, which may be one library. Held around all calls that Weft makes, for
// which MPI_THREAD_SERIALIZED and SHMEM_THREAD_SERIALIZED are enough.
std::mutex& library_mutex();

}  // namespace weft::mail

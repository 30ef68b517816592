// What has to hold in this process before an OpenSHMEM is loaded and initialised.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weft::shmem {

// Bytes of "4096", "64M", "1g" (K, M, G, T: powers of 1024). Empty: it is no such text.
std::optional<std::size_t> parse_size(std::string_view text);

// Whether Open MPI started this process.
bool launched_by_open_mpi();
// Throws Unsupported, saying how to start, if no launcher started this process. OpenSHMEM would
// otherwise start alone, as PE 0 of 1.
void check_launched();

// Sets how large the library makes its symmetric heap: as the user says in SHMEM_SYMMETRIC_SIZE, or
// in the variables of Open MPI; else room for `wanted` bytes. Open MPI ignores the standard's
// variable, so its own is set to the same. Returns the bytes. Throws InvalidArgument for a size
// that cannot be read, Unsupported for one beyond the machine's memory: UCX would then fill
// /dev/shm, and with it all memory, before it gives up. Sets variables: no other thread may read
// the environment meanwhile.
std::size_t settle_heap_size(std::size_t wanted);

// Evades two faults of Open MPI 4.1 and 5.0, see surroundings.cc. To be called before the library
// is loaded. Sets a variable, like settle_heap_size(). Throws Unsupported, with the remedy, for a
// program that one of them makes crash.
void prepare_open_mpi();

}  // namespace weft::shmem

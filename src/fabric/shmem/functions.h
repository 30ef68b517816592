// The functions of OpenSHMEM 1.4 that Weft calls, as the standard declares them. There is no
// shmem.h here: one build serves every library that keeps to the standard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/types.h"

namespace weft::shmem {

// Members of a collective of OpenSHMEM: `size` PEs from `start` on, 2^log_stride apart.
struct ActiveSet {
  int start = 0;
  int log_stride = 0;
  int size = 0;
  bool operator==(const ActiveSet&) const = default;
};

// The active set whose members are `pes`, in this order. Empty: there is none, and OpenSHMEM's own
// collectives cannot run among them.
std::optional<ActiveSet> active_set(std::span<const int> pes);

// pSync: symmetric memory of the library's own during a collective. It starts as the sync value in
// every element, and has that value again when the collective has ended on all PEs. The largest
// size that a library known here asks for is 128.
inline constexpr std::size_t kSyncElements = 256;
// pWrk: scratch memory of a reduction of `count` elements, in elements of its type.
constexpr std::size_t work_elements(std::size_t count) {
  return count / 2 + 1 < kSyncElements ? kSyncElements : count / 2 + 1;
}

// `count` in elements of 32 or 64 bits. All arguments are equal on all members, but for the
// addresses, which are symmetric, and the count of `Collect`. Each waits for all members, without
// a deadline.
using Broadcast = void (*)(void* to, const void* from, std::size_t count, int root, int start,
                           int log_stride, int size, long* sync);  // the root's `to` stays as it is
using Exchange = void (*)(void* to, const void* from, std::size_t count, int start, int log_stride,
                          int size, long* sync);  // collect, fcollect and alltoall
using Barrier = void (*)(int start, int log_stride, int size, long* sync);
using Reduction = void (*)(void* to, const void* from, int count, int start, int log_stride,
                           int size, void* work, long* sync);

struct Functions {
  int (*init_thread)(int requested, int* provided) = nullptr;
  void (*query_thread)(int* provided) = nullptr;
  void (*info_get_name)(char* name) = nullptr;
  int (*my_pe)() = nullptr;
  int (*n_pes)() = nullptr;
  void* (*align)(std::size_t alignment, std::size_t bytes) = nullptr;
  void (*free)(void* data) = nullptr;
  void (*putmem)(void* to, const void* from, std::size_t bytes, int pe) = nullptr;
  void (*fence)() = nullptr;
  // unsigned long, not uint64_t: Open MPI 4.1 has no shmem_uint64_atomic_add, which is a macro.
  void (*ulong_atomic_add)(unsigned long* at, unsigned long value, int pe) = nullptr;
  void* (*ptr)(const void* at, int pe) = nullptr;
  void (*barrier_all)() = nullptr;
  Barrier barrier = nullptr;

  // Null where the library has none.
  void (*putmem_signal)(void* to, const void* from, std::size_t bytes, std::uint64_t* flag,
                        std::uint64_t value, int op, int pe) = nullptr;  // 1.5
  Broadcast broadcast32 = nullptr, broadcast64 = nullptr;
  Exchange collect32 = nullptr, collect64 = nullptr;
  Exchange fcollect32 = nullptr, fcollect64 = nullptr;
  Exchange alltoall32 = nullptr, alltoall64 = nullptr;
};
static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));

// Those of the library `handle`, from dlopen. Throws Unsupported naming one that it lacks.
Functions find_functions(void* handle);
// shmem_float_sum_to_all and the like. Null: there is none for this type and operation.
Reduction find_reduction(void* handle, DType dtype, ReduceOp op);

}  // namespace weft::shmem

// An OpenSHMEM, found when it is first needed: the package works without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "fabric/shmem/functions.h"

namespace weft::shmem {

// The library that start() would use, by its path. Loads it, and does not start it. Throws
// Unsupported like start().
std::string find_library();

// The process's OpenSHMEM, initialised. Addresses of symmetric memory are this PE's own: a put to
// `pe` goes to where that PE has the same place of the same symmetric block. Sizes are in bytes.
//
// One thread at a time calls it, whichever that is: the level is SHMEM_THREAD_SERIALIZED. Only
// start() is thread safe.
class Shmem {
 public:
  // Loads a library and initialises it; later calls return what the first one made. Collective: it
  // waits for the first call of every PE, without a deadline. A program that has initialised
  // OpenSHMEM keeps it. `heap`: how much symmetric memory will be allocated, see
  // settle_heap_size(). Throws Unsupported, with the remedy, if no launcher started this process,
  // there is no library, it fails, or allows too few threads. Sets variables of the environment.
  static Shmem& start(std::size_t heap);
  Shmem(const Shmem&) = delete;
  Shmem& operator=(const Shmem&) = delete;

  // Whether somebody has ended it. Weft does not: Open MPI ends itself when the process exits, and
  // then waits for all.
  bool is_over() const;

  const std::string& name() const { return name_; }  // what the library says of itself
  int pe() const { return pe_; }
  int pes() const { return pes_; }
  // Of the symmetric heap; 0: unknown, since the program initialised it.
  std::size_t heap_bytes() const { return heap_; }
  // The variable by which users make the heap larger.
  const char* heap_variable() const;

  // Symmetric memory, aligned to a page, not zeroed. Collective, with equal arguments; ends with a
  // barrier. Null: the heap is too small.
  void* allocate(std::size_t bytes) { return call_.align(4096, bytes); }
  void free(void* data) { call_.free(data); }  // collective; begins with a barrier

  // `from` may be any memory, and may be written when put() returns.
  void put(void* to, const void* from, std::size_t bytes, int pe) {
    call_.putmem(to, from, bytes, pe);
  }
  // put(), then adds `value` to the peer's flag. Who sees the flag sees the payload.
  void put_signal(void* to, const void* from, std::size_t bytes, std::uint64_t* flag,
                  std::uint64_t value, int pe);
  // What was put to a PE before arrives there before what is put or added afterwards.
  void fence() { call_.fence(); }
  // A number that anyone adds to is read with atomic loads where it lies.
  void add(std::uint64_t* at, std::uint64_t value, int pe) {
    call_.ulong_atomic_add(reinterpret_cast<unsigned long*>(at), value, pe);
  }
  // Lets messages of the network arrive and leave; does not wait. A rank that polls its memory has
  // to call it: without, nothing arrives over Open MPI's TCP, and shmem_test does not help. Does
  // nothing in libraries that need no such call.
  //
  // Open MPI gives the core away in each such call, where its ranks outnumber the cores and nothing
  // has come. A thread that polls several peers would lose its core for each of them.
  void progress() {
    if (!progress_) return;
    const bool yields = set_yields_ && set_yields_(false);
    progress_();
    if (yields) set_yields_(true);
  }
  // The address here of the peer's place; null: it is on another node, or this library does not
  // map its memory.
  void* reach(const void* at, int pe) { return call_.ptr(at, pe); }
  void barrier() { call_.barrier_all(); }

  // The library's own collectives: see functions.h. They are of use where sync_value() is known.
  const Functions& call() const { return call_; }
  Reduction reduction(DType dtype, ReduceOp op) const { return find_reduction(handle_, dtype, op); }
  // What the elements of pSync start with. Empty: unknown, since only a header says so.
  std::optional<long> sync_value() const { return sync_value_; }

 private:
  explicit Shmem(std::size_t heap);
  void initialize(std::size_t heap);
  void check_threads();
  void learn();

  void* handle_ = nullptr;
  Functions call_;
  void (*progress_)() = nullptr;
  bool (*set_yields_)(bool) = nullptr;
  bool ours_ = false;      // start() initialised it
  bool open_mpi_ = false;  // else Sandia's or another
  int pe_ = 0, pes_ = 0;
  std::size_t heap_ = 0;
  std::string name_;
  std::optional<long> sync_value_;
  int signal_add_ = 0;  // SHMEM_SIGNAL_ADD, if putmem_signal is to be used
};

}  // namespace weft::shmem

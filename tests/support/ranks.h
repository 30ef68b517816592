// Ranks as threads of one process: how tests run eight of them, and how the thread
// sanitizer sees races between them.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "weft/communicator.h"

namespace weft::testing {

// The numbers of ranks that tables run on. Races between two ranks show among few: under the thread
// sanitizer eight ranks on two cores would take most of the time, and find nothing else.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kFindsRaces = true;
inline const std::vector<int> kRankCounts = {2, 3};
#else
inline constexpr bool kFindsRaces = false;
inline const std::vector<int> kRankCounts = {1, 2, 3, 4, 5, 8};
#endif

using Adjust = std::function<void(int rank, CommunicatorOptions&)>;

// Runs `body` once for each of `size` ranks, each with a communicator over a fabric of its
// own, and waits for all. Returns what each threw (null: nothing). `adjust` changes a rank's
// options.
inline std::vector<std::exception_ptr> try_ranks(
    int size, const std::function<void(Communicator&)>& body,
    std::chrono::milliseconds timeout = std::chrono::seconds(60), const Adjust& adjust = {}) {
  auto store = memory_store();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CommunicatorOptions options;
        options.timeout = timeout;
        options.fabric = make_shm_fabric();
        if (adjust) adjust(rank, options);
        body(*Communicator::create(store, rank, size, options));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

// The same; rethrows the first error.
inline void run_ranks(int size, const std::function<void(Communicator&)>& body,
                      const Adjust& adjust = {}) {
  for (const std::exception_ptr& error : try_ranks(size, body, std::chrono::seconds(60), adjust))
    if (error) std::rethrow_exception(error);
}

}  // namespace weft::testing

// Ranks, and what they do together. In weft_tests they are threads of one process: that is how
// tests run eight of them, and how the thread sanitizer sees races between them. In weft_rank_tests
// they are the processes of a job (tests/ranks).
#pragma once

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "weft/communicator.h"
#include "weft/store.h"

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

// What one rank does. All ranks of one call of each_rank() share `store`.
using RankBody = std::function<void(int rank, const std::shared_ptr<Store>& store)>;

// Runs `body` once for each of `size` ranks and waits for all. Returns what each threw (null:
// nothing). A process that is a rank runs its own part only, and learns what the others threw. All
// processes of the job make the same calls in the same order; a job with too few of them skips.
std::vector<std::exception_ptr> each_rank(int size, const RankBody& body);

// Whether the ranks share a process: then it may hold several fabrics.
bool ranks_are_threads();

// The fabric of a rank to which it does not matter.
std::shared_ptr<Fabric> any_fabric();

using Adjust = std::function<void(int rank, CommunicatorOptions&)>;

// Runs `body` on `size` ranks, each with a communicator over a fabric of its own. Returns what each
// threw. `adjust` changes a rank's options.
inline std::vector<std::exception_ptr> try_ranks(
    int size, const std::function<void(Communicator&)>& body,
    std::chrono::milliseconds timeout = std::chrono::seconds(60), const Adjust& adjust = {}) {
  return each_rank(size, [&](int rank, const std::shared_ptr<Store>& store) {
    CommunicatorOptions options;
    options.timeout = timeout;
    if (adjust) adjust(rank, options);
    if (!options.fabric) options.fabric = any_fabric();
    body(*Communicator::create(store, rank, size, options));
  });
}

// Says what each rank threw, since the first error may be what another rank's brought about.
inline void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr first;
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    if (!errors[rank]) continue;
    if (!first) first = errors[rank];
    try {
      std::rethrow_exception(errors[rank]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %zu threw: %s\n", rank, error.what());
    } catch (...) {
      std::fprintf(stderr, "rank %zu threw\n", rank);
    }
  }
  if (first) std::rethrow_exception(first);
}

// The same; rethrows the first error.
inline void run_ranks(int size, const std::function<void(Communicator&)>& body,
                      const Adjust& adjust = {}) {
  rethrow_first(try_ranks(size, body, std::chrono::seconds(60), adjust));
}

}  // namespace weft::testing

// A rank that gives up during a call, after another delay each time.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <span>
#include <thread>

#include "support/ranks.h"
#include "weft/error.h"

namespace weft::testing {

using Delay = std::chrono::microseconds;

// All ranks make the call, whose input is `mine`, in symmetric memory. Rank 1 aborts `delay` after
// its submission, and has its buffer back. Says whether the call ended well on this rank, so that
// its result must be right.
inline bool ends_well_although_one_aborts(Communicator& comm, const Call& call,
                                          std::span<std::byte> mine, Delay delay) {
  comm.barrier();
  if (comm.rank() == 1) {
    const Request request = comm.submit(call);
    std::this_thread::sleep_for(delay);
    comm.abort("enough");
    std::ranges::fill(mine, std::byte{9});
    return false;
  }
  try {
    comm.run(call);
  } catch (const Aborted&) {
    return false;
  }
  return true;
}

// Runs `body` on `size` ranks. Rethrows what is not Aborted, which ends communicators, too.
inline void run_ranks_that_abort(int size, const std::function<void(Communicator&)>& body) {
  for (const std::exception_ptr& error : try_ranks(size, body)) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const Aborted&) {  // by the destructor's farewell
    }
  }
}

}  // namespace weft::testing

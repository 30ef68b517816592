// Prices of operations on this group: those of the plans that would run, on a topology that was
// measured once.
#pragma once

#include <utility>

#include "job.h"
#include "weft/communicator.h"
#include "weft/topology.h"

namespace weft::torch_adapter {

// Not changed after it was made: thread safe.
class Costs {
 public:
  // Collective over a communicator that nothing else uses: some 0.1 s, and a few milliseconds
  // more for each further pair of ranks. Equal on all ranks. Throws Unsupported where ranks
  // outnumber their cores, and what the communicator throws.
  static Costs measured(Communicator& communicator);

  // Microseconds, without what torch takes itself. Operations count one after another. Calls are
  // priced as `communicator` would run them, on buffers in the same kind of memory on all ranks;
  // where counts
  // differ by rank, as if each had its share of this rank's bytes. Throws as the calls would.
  double of(const Job& job, const Communicator& communicator) const;

 private:
  explicit Costs(Topology topology) : topology_(std::move(topology)) {}

  // Seconds.
  double of(const Call& call, const Communicator& communicator) const;
  double of(const Transfer& transfer, const Communicator& communicator) const;

  Topology topology_;
};

}  // namespace weft::torch_adapter

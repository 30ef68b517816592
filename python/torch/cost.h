// What operations cost on this group: a latency and a bandwidth of each, measured once.
#pragma once

#include <array>

#include "job.h"
#include "weft/communicator.h"

namespace weft::torch_adapter {

class Costs {
 public:
  // Collective over a communicator that nothing else uses: some ten milliseconds. The outcome is
  // the slowest rank's, equal on all ranks. Throws what the communicator throws.
  static Costs measured(Communicator& communicator);

  // Microseconds.
  double of(const Job& job, int size) const;

 private:
  // Sends and receives count as Collective::kSendRecv.
  struct Line {
    double latency = 0;  // microseconds
    double per_byte = 0;
  };
  std::array<Line, kCollectives> lines_;
};

}  // namespace weft::torch_adapter

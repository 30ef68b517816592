// The first words that the ranks of a new communicator exchange, and the settings that follow for
// all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/rendezvous.h"
#include "comm/workers.h"
#include "fabric/fabric.h"
#include "select/settings.h"
#include "weft/communicator.h"

namespace weft {

// The words of the members, by rank.
struct Members {
  std::vector<std::string> addresses;  // of their fabrics
  std::vector<std::string> machines;   // on which they are

  // The node of each, by number.
  std::vector<int> place() const;
};

struct Introduction {
  Members members;
  Settings settings;               // rank 0's; reproducible is what any rank asks for
  std::shared_ptr<Fabric> fabric;  // reaches all, as far as addresses tell
  WorkerPlan worker;
};

// Throws Mismatch naming a rank of another version of Weft; on all ranks InvalidArgument or
// Unsupported where settings or the network of one are wrong, Timeout naming ranks that do not
// come.
Introduction introduce(const Exchange& exchange, int rank, const CommunicatorOptions& options);

}  // namespace weft

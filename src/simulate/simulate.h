// Runs a plan on a topology in SimGrid: contention and, on request, the energy of links.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "passes/cost/time_domain.h"

namespace weft::simulate {

enum class Model {
  // SimGrid's model of MPI: by size of a message, latencies are multiplied (by 11.6 above 64 KiB)
  // and
  // bandwidths (by 0.94), as measured once on a cluster with Gigabit Ethernet; a stream of bytes
  // also takes 5% of the way back. The latency is a message's start-up: the next one to the same
  // rank begins after it.
  kSmpi,
  // Latencies and bandwidths of the topology (CM02 without cross-traffic and TCP's window). As in
  // the cost model, the next message follows while the one before is on its way.
  kPlain,
};

struct Options {
  Model model = Model::kSmpi;
  bool energy = false;
  // Called with the number of messages that have arrived, now and then.
  std::function<void(std::int64_t)> progress = [](std::int64_t) {};
};

struct Outcome {
  double seconds = 0;         // until the last rank is through
  double joules = 0;          // of the links that carried traffic; 0 if not asked for
  std::int64_t messages = 0;  // one for each destination
  double bytes = 0;           // of payload, one for each destination
};

// Once a process: SimGrid's engine is global. Throws InvalidPlan if ranks wait for ever.
Outcome simulate(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
                 const Options& options);

}  // namespace weft::simulate

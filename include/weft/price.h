// Prices of plans on a topology: the critical path through all ranks' programs.
//
// Ranks run their programs step by step. A copy or reduction takes its bytes at the topology's
// rates, every step its `step`. A message leaves when it is sent. It occupies every link of its
// route for its bytes and the link's overhead, and arrives after the route's latency. Meanwhile its
// sender goes on, as far as its slots allow. The depth of a message is the longest chain of
// messages that had to come before. Messages of the same depth share links, switches and ports
// evenly while they overlap in time. Deeper messages wait for those still under way.
//
// If all links are memory, sending costs only the latency, and the step that uses a payload fetches
// it at the link's bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/plan.h"
#include "weft/topology.h"
#include "weft/types.h"

namespace weft {

struct PriceOptions {
  // Bytes; 0: as the algorithm's text says, or as a communicator would choose.
  std::size_t chunk = 0;
  DType dtype = DType::kF32;
  // Outputs lie in symmetric memory, where puts with destinations arrive in place.
  bool symmetric = false;
  // Allreduce and broadcast in place: copies from the input to the output cost nothing.
  bool in_place = true;
  // Bytes for the slots of a rank; chunks are shortened to them. kSlotBytes is what communicators
  // have; 0: no limit.
  std::size_t slot_bytes = 0;
};

struct Price {
  double seconds = 0;         // until the last rank is through
  std::size_t chunk = 0;      // bytes
  std::int64_t messages = 0;  // one for each destination
  double bytes = 0;           // of payload, one for each destination
  int depth = 0;              // messages, one after the other, on the longest chain
  std::string busiest;        // the part of the topology that was occupied longest: "gpu0 -> plx0"
  double busy = 0;            // for so many seconds
  Params fitted;              // parameters that the topology answered (weft/fit.h)
};

// `bytes` is the whole message, as nccl-tests count: all blocks of the side that has one for each
// rank. The first `ranks` ranks of the topology take part, and parameters that `params` leaves open
// are taken from it (weft/fit.h). Very long programs are written for some ranks only. Those of
// ranks that differ only in their number follow from them.
//
// Throws InvalidArgument for an unknown algorithm, one that refuses `ranks` or `params`, and a
// topology with too few ranks or without a route between two ranks that talk. Thread safe.
Price price(std::string_view algorithm, int ranks, std::size_t bytes, const Topology& topology,
            const Params& params = {}, const PriceOptions& options = {});
// The price of a given plan. Throws InvalidPlan if it gets stuck.
Price price(const Plan& plan, std::size_t bytes, const Topology& topology,
            const PriceOptions& options = {});

// When everything of a priced call happens, in seconds from its beginning.
struct Timeline {
  struct Step {
    int rank = 0;
    // Which of the rank's program: program[section].steps[step], in that round, on that chunk.
    int section = 0, step = 0, round = 0, chunk = 0;
    int chunks = 1;         // of its extent in that round
    int sent = 0;           // of messages: the first that it sends, if it sends
    std::vector<int> read;  // of messages: what its sources in slots came with, in order
    double start = 0;       // the rank gets there
    double began = 0;       // it no longer waits: for a message, a slot, or its puts
    double end = 0;
  };
  struct Message {
    int from = 0, to = 0, channel = 0;
    double bytes = 0;
    double sent = 0, arrived = 0;
    double received = 0;  // waited for
    double credited = 0;
  };
  Price price;
  std::vector<Step> steps;        // in an order in which ranks can do them
  std::vector<Message> messages;  // in the order in which they are sent
};
// price(), and what it goes through. As long as the plan's steps are many.
Timeline timeline(const Plan& plan, std::size_t bytes, const Topology& topology,
                  const PriceOptions& options = {});

}  // namespace weft

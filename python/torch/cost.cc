#include "cost.h"

#include <algorithm>
#include <utility>

#include "weft/collective.h"
#include "weft/measure.h"
#include "weft/price.h"
#include "weft/registry.h"

namespace weft::torch_adapter {

namespace {

// Up to what DDP's buckets of 25 MiB touch: rates of 8 MiB do not hold there.
constexpr MeasureOptions kQuick{.largest = std::size_t{32} << 20, .times = 5};

// Of the larger buffer, of the rank that has one.
std::size_t bytes_of(const Call& call, int size) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const std::size_t elements =
      std::max(traits.input.elements(call.count, call.input_counts, size),
               traits.output.elements(call.count, call.output_counts, size));
  return elements * size_of(call.dtype);
}

}  // namespace

Costs Costs::measured(Communicator& communicator) { return Costs(measure(communicator, kQuick)); }

double Costs::of(const Job& job, const Communicator& communicator) const {
  double seconds = 0;
  for (const Call& call : job.calls()) seconds += of(call, communicator);
  for (const Transfer& transfer : job.transfers()) seconds += of(transfer, communicator);
  return seconds * 1e6;
}

// The plan at hand, not its name: by name a topology would answer parameters that the choice has
// left to their defaults.
double Costs::of(const Call& call, const Communicator& communicator) const {
  Choice choice = parse_choice(communicator.algorithm_for(call));
  if (call.root != 0) choice.params["root"] = call.root;
  PriceOptions options;
  options.chunk = choice.chunk;
  options.dtype = call.dtype;
  options.symmetric = is_symmetric(*communicator.fabric(), call.output, 1);
  options.in_place = call.input == call.output;
  options.slot_bytes = kSlotBytes;
  const int size = communicator.size();
  return price(make_plan(choice.algorithm, size, choice.params), bytes_of(call, size), topology_,
               options)
      .seconds;
}

double Costs::of(const Transfer& transfer, const Communicator& communicator) const {
  const int me = communicator.rank();
  const int peer = transfer.peer == kAnySource ? (me + 1) % communicator.size() : transfer.peer;
  auto [source, destination] = transfer.sends ? std::pair(me, peer) : std::pair(peer, me);
  Topology pair = topology_;
  pair.ranks = {topology_.ranks.at(static_cast<std::size_t>(source)),
                topology_.ranks.at(static_cast<std::size_t>(destination))};
  PriceOptions options;
  options.dtype = transfer.dtype;
  options.slot_bytes = kSlotBytes;
  const std::size_t bytes = transfer.count * size_of(transfer.dtype);
  // Before its first chunk goes, the sender announces it and the receiver answers.
  return 2 * Routes(pair).latency(0, 1) +
         price(make_plan("sendrecv/stream", 2), bytes, pair, options).seconds;
}

}  // namespace weft::torch_adapter

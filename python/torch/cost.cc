#include "cost.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/builder.h"
#include "weft/measure.h"
#include "weft/price.h"

namespace weft::torch_adapter {

namespace {

// Up to what DDP's buckets of 25 MiB touch: rates of 8 MiB do not hold there.
constexpr MeasureOptions kQuick{.largest = std::size_t{32} << 20, .times = 5};

bool has_blocks(Collective collective) {
  switch (collective) {
    case Collective::kAllgather:
    case Collective::kReduceScatter:
    case Collective::kAlltoall:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    default:
      return false;
  }
}

// Of the larger buffer, of the rank that has one.
std::size_t bytes_of(const Call& call, int size) {
  auto sum = [](auto counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  };
  std::size_t elements =
      has_blocks(call.collective) ? call.count * static_cast<std::size_t>(size) : call.count;
  if (!call.input_counts.empty() || !call.output_counts.empty())
    elements = std::max(sum(call.input_counts), sum(call.output_counts));
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

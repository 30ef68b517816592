#include "comm/planner.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "comm/places.h"
#include "fabric/natives.h"
#include "plan/verbs.h"
#include "weft/collective.h"
#include "weft/error.h"

namespace weft {

namespace {

// Of many ranks it is not asked.
constexpr int kMostAsked = 16;

bool any_reaches(const Algorithm& algorithm, int ranks, const Params& params) {
  if (ranks > kMostAsked) return true;
  for (int rank = 0; rank < ranks; ++rank)
    if (reads_in_peers(make_rank_plan(algorithm, rank, ranks, params), rank)) return true;
  return false;
}

}  // namespace

PlanCache::Planned PlanCache::get(const PlanKey& key) {
  std::lock_guard lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& entry) { return entry.key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().planned;
  }
  const Algorithm& algorithm = *key.use->algorithm;
  Params params = key.use->params;
  if (traits_of(algorithm.collective).rooted()) params["root"] = key.root;
  const bool reaches = any_reaches(algorithm, key.ranks, params);
  auto plan = std::make_shared<const RankPlan>(
      make_rank_plan(algorithm, key.rank, key.ranks, std::move(params)));
  const std::uint32_t shape = digest(plan->shape);
  entries_.push_front({key, {std::move(plan), reaches, shape}});
  if (entries_.size() > kMost) entries_.pop_back();
  return entries_.front().planned;
}

namespace {

std::uint16_t fold_scale(double scale) {
  auto bits = std::bit_cast<std::uint64_t>(scale);
  bits ^= bits >> 32;
  return static_cast<std::uint16_t>(bits ^ (bits >> 16));
}

// The kernel for a step with narrow slots; null where they are as the buffers, or there are none.
kernels::ReduceFn narrow_reduce(const PlanShape& shape, const Call& call) {
  const auto narrow = [](const Channel& channel) { return channel.width == Width::kNarrow; };
  const DType wire = wire_of(call.dtype);
  if (wire == call.dtype || std::none_of(shape.channels.begin(), shape.channels.end(), narrow))
    return nullptr;
  return kernels::find_reduce(wire, call.op);
}

// Whether all counts that are given are one number.
bool counts_equal(const Call& call) {
  const bool given = !call.input_counts.empty() || !call.output_counts.empty();
  if (!given) return true;
  // Where only one side has counts the other has `count` for each.
  const std::size_t one = call.input_counts.empty() || call.output_counts.empty()
                              ? call.count
                              : call.input_counts.front();
  const auto is_one = [&](std::size_t count) { return count == one; };
  return std::all_of(call.input_counts.begin(), call.input_counts.end(), is_one) &&
         std::all_of(call.output_counts.begin(), call.output_counts.end(), is_one);
}

// Elements of the longer buffer.
std::size_t longest(const Binding& binding) {
  return std::max(binding.parts[0].total(), binding.parts[1].total());
}

// Whether symmetric memory is worth it for a message of so many bytes.
bool uses_symmetric(const Call& call, int ranks, std::size_t bytes, const Lengths& lengths) {
  if (bytes < lengths.symmetric_from) return false;
  switch (call.collective) {
    case Collective::kAllgather:
    case Collective::kAlltoall:
      return ranks != 2 || bytes >= lengths.moved_from;
    case Collective::kReduce:
      return bytes <= lengths.loaded_to || bytes >= lengths.reduce_in_place;
    case Collective::kBroadcast:
      if (ranks == 2 && call.symmetric && bytes >= lengths.broadcast_in_place) return true;
      return bytes <= lengths.loaded_to && bytes < lengths.long_broadcast;
    default:
      return true;
  }
}

}  // namespace

Chosen Planner::choose(const Call& call) const {
  try {
    return selector_.choose(size_ == 2 ? as_both_see_it(call) : call);
  } catch (const InvalidArgument& error) {
    refuse(call, error.what());
  }
}

// An alltoall in which two ranks send each other as much has that as its count, however long the
// blocks are that they keep.
Call Planner::as_both_see_it(Call call) const {
  if (!traits_of(call.collective).exchanges()) return call;
  const auto other = static_cast<std::size_t>(1 - rank_);
  const auto crossing = [&](std::span<const std::size_t> counts) {
    return counts.size() == 2 ? counts[other] : call.count;
  };
  const std::size_t sent = crossing(call.input_counts);
  if (sent != crossing(call.output_counts)) return call;
  call.count = sent;
  call.input_counts = call.output_counts = {};
  return call;
}

void Planner::bind(const Call& call, Binding& binding) {
  check(call);
  const CollectiveTraits& traits = traits_of(call.collective);
  const Handle use = choose(call).use;
  auto [plan, reaches, shape_digest] =
      plans_.get({use, traits.rooted() ? call.root : 0, rank_, size_});
  const PlanShape& shape = plan->shape;
  if (shape.equal_counts && !counts_equal(call))
    throw Unsupported("rank " + std::to_string(rank_) + ", " +
                      std::string(name_of(call.collective)) + ": " + shape.algorithm +
                      " serves equal counts only: choose another for these, or none");
  binding.natives = natives_for(call, *plan);
  binding.element = size_of(call.dtype);
  binding.accumulator = size_of(accumulator_of(call.dtype));
  binding.wire = size_of(wire_of(call.dtype));
  cut(call, shape, use->chunk, binding);
  binding.symmetric =
      reaches || uses_symmetric(call, size_, longest(binding) * binding.element, chunks_.lengths);
  binding.reduce = kernels::find_reduce(call.dtype, call.op);
  binding.reduce_narrow = narrow_reduce(shape, call);
  binding.scale = call.op == ReduceOp::kAvg         ? 1.0 / size_
                  : call.op == ReduceOp::kPremulSum ? call.scale
                                                    : 1.0;
  binding.signature = {};
  binding.signature.count = call.count;
  // Ranks that cut their messages in different ways would misread each other.
  binding.signature.plan = shape_digest ^ static_cast<std::uint32_t>(use->chunk * 0x9e3779b1u);
  binding.signature.collective = static_cast<std::uint8_t>(call.collective);
  binding.signature.dtype = static_cast<std::uint8_t>(call.dtype);
  binding.signature.op = static_cast<std::uint8_t>(call.op);
  binding.signature.root = static_cast<std::uint16_t>(call.root);
  if (call.op == ReduceOp::kPremulSum) binding.signature.scale = fold_scale(call.scale);
  binding.count_by_pair = traits.by_rank();
  binding.plan = std::move(plan);
  binding.prepare();
  binding.places = places_of(binding, machine_model().reuse);
  binding.lending = lending_of(binding, machine_model().reuse);
  binding.revision = revisions_.fetch_add(1, std::memory_order_relaxed) + 1;
  set_buffers(call, binding);
}

// Whose function the plan's native step runs; null if it has none.
Natives* Planner::natives_for(const Call& call, const RankPlan& plan) const {
  if (plan.program.empty() || !traits_of(plan.program[0].steps[0].verb).opaque) return nullptr;
  Natives* const natives = fabric_->natives();
  const std::string why = natives ? natives->obstacle(*lane_, call.collective, call.dtype, call.op)
                                  : "it has no collectives of its own";
  if (why.empty()) return natives;
  throw Unsupported("rank " + std::to_string(rank_) + ", " + std::string(name_of(call.collective)) +
                    ": " + plan.shape.algorithm + " runs the function of the fabric \"" +
                    std::string(fabric_->name()) + "\": " + why +
                    ": choose another algorithm, or none");
}

[[gnu::hot]] void Planner::set_buffers(const Call& call, Binding& binding) const {
  // The engine takes both as bytes; plans never write an input.
  binding.user[0] = static_cast<std::byte*>(const_cast<void*>(call.input));
  binding.user[1] = static_cast<std::byte*>(call.output);
  binding.copies_input = traits_of(call.collective).exchanges() && call.input == call.output &&
                         !binding.plan->shape.in_place;
  binding.rewrites = traits_of(call.collective).reduces && call.input == call.output;
  if (size_ == 1) return;
  for (std::size_t side = 0; side < 2; ++side) {
    const bool copied = side == 0 && binding.copies_input;
    binding.where[side] =
        binding.user[side] && binding.symmetric && !copied
            ? fabric_->locate(binding.user[side], binding.parts[side].total() * binding.element)
            : Location{};
  }
}

void Planner::cut(const Call& call, const PlanShape& shape, std::size_t chunk,
                  Binding& binding) const {
  const std::size_t unit = std::max<std::size_t>(1, 64 / binding.element);
  const bool by_rank = traits_of(call.collective).by_rank();
  auto side = [&](std::span<const std::size_t> counts, int blocks) {
    if (!counts.empty()) return Partition::of(counts);
    if (by_rank) return Partition::uniform(call.count, blocks);
    return Partition::even(call.count, blocks, unit);
  };
  binding.parts[0] = side(call.input_counts, shape.input_blocks);
  binding.parts[1] = side(call.output_counts, shape.output_blocks);
  // Where counts differ no rank knows the largest block; and an equal exchange may be given
  // with counts by one rank and without by another. So where counts may be given, the block's
  // size is ignored.
  std::size_t block = by_rank || shape.output_blocks == 0 ? 0 : binding.parts[1].size(0, 1);
  ChunkRule rule = chunks_;
  rule.asked = chunk;
  // No message is longer than a buffer, so slots need not be.
  binding.chunk =
      std::min(chunk_elements(shape, block, binding.element, binding.accumulator, kSlotBytes, rule),
               std::max<std::size_t>(1, longest(binding)));
}

void Planner::bind_transfer(Binding& binding, void* data, std::size_t count, DType dtype,
                            int source, int destination) {
  int me = rank_ == source ? 0 : 1;
  auto [plan, reaches, shape_digest] = plans_.get({transfer_, 0, me, 2});
  binding.element = binding.accumulator = size_of(dtype);
  binding.parts[0] = binding.parts[1] = Partition::uniform(count, 1);
  binding.chunk =
      chunk_elements(plan->shape, count, binding.element, binding.element, kSlotBytes, chunks_);
  binding.signature = {};
  binding.signature.count = count;
  binding.signature.plan = shape_digest;
  binding.signature.collective = static_cast<std::uint8_t>(Collective::kSendRecv);
  binding.signature.dtype = static_cast<std::uint8_t>(dtype);
  binding.pair = {source, destination};
  binding.plan = std::move(plan);
  binding.prepare();
  binding.places = places_of(binding, machine_model().reuse);
  binding.user[static_cast<std::size_t>(me)] = static_cast<std::byte*>(data);
  if (me == 0) binding.where[0] = fabric_->locate(data, count * binding.element);
}

}  // namespace weft

// Checks of a call that a rank can make by itself.
#include <cstdint>

#include "comm/planner.h"
#include "weft/collective.h"
#include "weft/error.h"

namespace weft {

namespace {

// Elements of one rank: with this limit no sum of bytes overflows, and no machine has as many.
std::size_t most_elements(DType dtype, int size) {
  return PTRDIFF_MAX / size_of(dtype) / static_cast<std::size_t>(size);
}

// One side of a call in memory.
struct Side {
  const std::byte* data;
  std::size_t bytes;
  std::size_t own;  // offset of this rank's block
};

Side side(const SideTraits& traits, const void* data, std::size_t count,
          std::span<const std::size_t> counts, int rank, int size, std::size_t element) {
  const auto before = counts.empty() ? counts : counts.first(static_cast<std::size_t>(rank));
  return {static_cast<const std::byte*>(data), traits.elements(count, counts, size) * element,
          traits.by_rank() ? traits.elements(count, before, rank) * element : 0};
}

// Of this rank's blocks: as much goes to each rank as comes from it.
bool counts_match(const Call& call, int size) {
  auto of = [&](std::span<const std::size_t> counts, int rank) {
    return counts.empty() ? call.count : counts[static_cast<std::size_t>(rank)];
  };
  for (int rank = 0; rank < size; ++rank)
    if (of(call.input_counts, rank) != of(call.output_counts, rank)) return false;
  return true;
}

bool overlap(const Side& a, const Side& b) {
  auto begin = [](const Side& s) { return reinterpret_cast<std::uintptr_t>(s.data); };
  return a.bytes && b.bytes && begin(a) < begin(b) + b.bytes && begin(b) < begin(a) + a.bytes;
}

}  // namespace

void Planner::refuse(const Call& call, const std::string& what) const {
  throw InvalidArgument("rank " + std::to_string(rank_) + ", " +
                        std::string(name_of(call.collective)) + ": " + what);
}

[[gnu::hot]] void Planner::check(const Call& call) const {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.is_pair()) refuse(call, "use send and recv");
  if (traits.reduces && !reducible(call.dtype, call.op))
    throw Unsupported("rank " + std::to_string(rank_) + ", " +
                      std::string(name_of(call.collective)) + ": " + std::string(name_of(call.op)) +
                      " is not defined on " + std::string(name_of(call.dtype)));
  if (traits.rooted() && (call.root < 0 || call.root >= size_))
    refuse(call, "root is " + std::to_string(call.root) + ", ranks are 0 to " +
                     std::to_string(size_ - 1));
  if (traits.moves_data()) check_buffers(call);
}

[[gnu::hot]] void Planner::check_buffers(const Call& call) const {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool in_per_rank = traits.input.by_rank(), out_per_rank = traits.output.by_rank();
  const bool has_input = holds(traits.input.holder, rank_, call.root);
  const bool has_output = holds(traits.output.holder, rank_, call.root);
  auto counts_fit = [&](std::span<const std::size_t> counts, bool allowed, const char* name) {
    if (counts.empty()) return;
    if (!allowed) refuse(call, std::string(name) + " does not apply");
    if (counts.size() != static_cast<std::size_t>(size_))
      refuse(call, std::string(name) + " has " + std::to_string(counts.size()) +
                       " entries: give one a rank, " + std::to_string(size_));
    if (!traits.exchanges() && counts[static_cast<std::size_t>(rank_)] != call.count)
      refuse(call, std::string(name) + " gives this rank " +
                       std::to_string(counts[static_cast<std::size_t>(rank_)]) +
                       " elements, count " + std::to_string(call.count));
  };
  const auto check_most = [&](std::size_t count, const char* name) {
    if (count > most_elements(call.dtype, size_))
      refuse(call, std::string(name) + " is " + std::to_string(count) +
                       ", more than any memory holds: was it negative?");
  };
  check_most(call.count, "count");
  for (std::size_t count : call.input_counts) check_most(count, "one of input_counts");
  for (std::size_t count : call.output_counts) check_most(count, "one of output_counts");
  counts_fit(call.input_counts, in_per_rank, "input_counts");
  counts_fit(call.output_counts, out_per_rank, "output_counts");

  const std::size_t element = size_of(call.dtype);
  Side in = side(traits.input, call.input, call.count, call.input_counts, rank_, size_, element);
  Side out =
      side(traits.output, call.output, call.count, call.output_counts, rank_, size_, element);
  if (has_input && in.bytes && !in.data) refuse(call, "input is null");
  if (has_output && out.bytes && !out.data) refuse(call, "output is null");
  if (!has_input || !has_output || !overlap(in, out)) return;
  // The only overlap allowed is "in place", as call.h defines it.
  const bool whole = in_per_rank == out_per_rank;
  const bool in_place = whole          ? in.data == out.data
                        : out_per_rank ? in.data == out.data + out.own
                                       : out.data == in.data + in.own;
  if (in_place && traits.exchanges() && !counts_match(call, size_))
    refuse(call,
           "in place input_counts and output_counts must be equal: give equal ones, or separate "
           "buffers");
  if (!in_place)
    refuse(call,
           "input and output overlap but are not in place: pass the same buffer where the "
           "collective allows it, or separate ones");
}

}  // namespace weft

#include "comm/bound_calls.h"

#include <algorithm>
#include <bit>

#include "algorithms/registry.h"

namespace weft {

namespace {

bool has_counts(const Call& call) {
  return !call.input_counts.empty() || !call.output_counts.empty();
}

// Equal but for the buffers and the time limit.
bool alike(const Call& a, const Call& b) {
  return a.collective == b.collective && a.count == b.count && a.dtype == b.dtype && a.op == b.op &&
         a.root == b.root &&
         std::bit_cast<std::uint64_t>(a.scale) == std::bit_cast<std::uint64_t>(b.scale) &&
         a.symmetric == b.symmetric && a.algorithm == b.algorithm;
}

}  // namespace

[[gnu::hot]] inline BoundCalls::Bound* BoundCalls::find(const Call& call) {
  if (const std::uint64_t now = registry_generation(); now != registry_) {
    for (Bound& bound : bound_) bound.repeats = false;
    registry_ = now;
  }
  if (has_counts(call)) return nullptr;
  for (Bound& bound : bound_)
    if (bound.repeats && alike(bound.call, call)) return &bound;
  return nullptr;
}

[[gnu::hot]] Binding& BoundCalls::bind(const Call& call) {
  ++now_;
  if (Bound* const found = find(call)) {
    found->used = now_;
    // What is not the buffers' was checked when it was bound. Of equal ones the kind of memory may
    // have changed.
    const bool equal = call.input == found->call.input && call.output == found->call.output;
    if (equal && !found->binding.symmetric) return found->binding;
    if (!equal) planner_.check(call);
    found->call.input = call.input;
    found->call.output = call.output;
    planner_.set_buffers(call, found->binding);
    return found->binding;
  }
  Bound& bound = used_longest_ago();
  bound.repeats = false;
  planner_.bind(call, bound.binding);
  if (has_counts(call))
    bound.used = 0;  // the first to go
  else
    remember(call, bound);
  return bound.binding;
}

BoundCalls::Bound& BoundCalls::used_longest_ago() {
  return *std::ranges::min_element(bound_, {}, &Bound::used);
}

void BoundCalls::remember(const Call& call, Bound& bound) {
  bound.call = call;
  bound.algorithm = call.algorithm;
  bound.call.algorithm = bound.algorithm;
  bound.repeats = true;
  bound.used = now_;
}

}  // namespace weft

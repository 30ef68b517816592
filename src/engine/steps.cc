// The verbs: what each of them does. A step that cannot go changes nothing and is tried again.
#include <algorithm>
#include <utility>

#include "engine/run.h"
#include "weft/error.h"

namespace weft {

[[gnu::hot]] bool Run::copy(const ResolvedStep& now, std::size_t chunk) {
  const Span part = span(now, chunk);
  if (now.converts || now.targets > 1) return copy_apart(now, part);
  const Place &to = *now.into, &from = *now.from();
  std::byte* there;
  if (!target(to, part, there)) return false;
  kernels::copy(there, source(from, part), part.count * binding_->bytes_in(from.width),
                filling(to, from));
  return true;
}

[[gnu::hot]] bool Run::copy_apart(const ResolvedStep& now, const Span& part) {
  if (!targets(now, part)) return false;
  const Place& from = *now.from();
  const kernels::Source data{source(from, part), from.wide};
  if (now.converts) {
    sources_.assign(1, data);
    combine(part.count, 1.0, kernels::Order::kFromLeft);
  } else {
    kernels::copy({targets_[0].data, filling(now.into[0], from)},
                  {targets_[1].data, filling(now.into[1], from)}, data.data,
                  part.count * binding_->bytes_in(from.width));
  }
  return true;
}

kernels::Filling Run::filling(const Place& target, const Place& from) const {
  if (target.buffer == Buffer::kSlot) return {kernels::To::kSlot, whole(from)};
  // What has been read is in the caches, and is written there: the copy counts alone.
  if (binding_->rewrites) return kernels::To::kOwn;
  return {kernels::To::kOwn, whole(target)};
}

[[gnu::hot]] bool Run::reduce(const ResolvedStep& now, std::size_t chunk) {
  if (now.left && lane_->adds_up_late) return true;
  const Span part = span(now, chunk);
  if (!terms(now, part)) return false;
  add_up(*now.step, part.count);
  return true;
}

[[gnu::hot]] bool Run::terms(const ResolvedStep& now, const Span& part) {
  if (!targets(now, part)) return false;
  sources_.resize(static_cast<std::size_t>(now.sources));
  const Place* from = now.from();
  for (kernels::Source& term : sources_) {
    term = {source(*from, part), from->wide};
    ++from;
  }
  return true;
}

[[gnu::hot]] void Run::add_up(const Step& step, std::size_t count) {
  if (count)
    combine(count, step.last ? binding_->scale : 1.0,
            step.tree ? kernels::Order::kTree : kernels::Order::kFromLeft);
}

[[gnu::hot]] void Run::combine(std::size_t count, double scale, kernels::Order order) {
  if (!binding_->reduce_narrow) return binding_->reduce(sources_, targets_, count, scale, order);
  const auto narrow = [](const auto& operand) { return !operand.wide; };
  const auto slot = std::find_if(targets_.begin(), targets_.end(), narrow);
  const bool fills = slot != targets_.end();
  if (!fills && std::none_of(sources_.begin(), sources_.end(), narrow))
    return binding_->reduce(sources_, targets_, count, scale, order);
  if (!fills || std::all_of(targets_.begin(), targets_.end(), narrow))
    return binding_->reduce_narrow(sources_, targets_, count, scale, order);
  // One is a narrow slot and one is not: the second gets the rounded values of the first.
  std::swap(*slot, targets_[0]);
  const kernels::Source rounded{targets_[0].data};
  const std::span<const kernels::Target> both = targets_;
  binding_->reduce_narrow(sources_, both.first(1), count, scale, order);
  binding_->reduce_narrow({&rounded, 1}, both.last(1), count, 1.0, kernels::Order::kFromLeft);
}

[[gnu::hot]] inline void Run::compare(const ResolvedStep& now, const Header& theirs) const {
  Signature ours = binding_->signature;
  if (binding_->count_by_pair) ours.count = now.elements;
  if (ours != theirs.signature) [[unlikely]]
    mismatch(now.peers[0], ours, theirs.signature);
}

[[gnu::hot]] bool Run::wait(const ResolvedStep& now) {
  const int peer = now.peers[0];
  LaneState::Traffic& with = lane_->traffic(peer, now.channel);
  const Header* const arrived = lane_->endpoint.arrival(peer, now.channel, with.waited);
  if (!arrived) {
    blocked_on_ = peer;
    return false;
  }
  compare(now, *arrived);
  ++with.waited;
  const bool says = arrived->bytes == 0 || arrived->bytes > kInlineBytes;
  if (says && (arrived->input || arrived->output)) {
    const int rank = now.step->peers[0].at(at_.round);
    peer_buffers_[static_cast<std::size_t>(rank)] = {arrived->input, arrived->output};
    knows_buffers_ = true;
  }
  return true;
}

[[gnu::hot]] void Run::credit(const ResolvedStep& now) {
  const int peer = now.peers[0];
  LaneState::Traffic& with = lane_->traffic(peer, now.channel);
  if (with.credited == with.waited) [[unlikely]]
    refuse("credits a message of rank " + std::to_string(peer) + " that it has not received");
  lane_->endpoint.credit(peer, now.channel, ++with.credited);
  if (with.back) lane_->slots.come_back(std::exchange(with.back, nullptr));
}

bool Run::puts_are_read() {
  std::erase_if(unread_puts_, [&](const UnreadPut& put) {
    return lane_->endpoint.settled(put.peer, put.channel, put.number, put.bytes);
  });
  if (!unread_puts_.empty()) blocked_on_ = unread_puts_.front().peer;
  return unread_puts_.empty();
}

void Run::compare_arrivals() {
  if (binding_->pair[0] >= 0) return;  // the two sides of a transfer have been matched
  for (int peer = 0; peer < binding_->plan->shape.ranks; ++peer) {
    for (int channel = 0; peer != rank_ && channel < kMaxChannels; ++channel) {
      const Header* const next =
          lane_->endpoint.arrival(peer, channel, lane_->traffic(peer, channel).waited);
      if (!next) continue;
      Signature ours = binding_->signature, theirs = next->signature;
      if (binding_->count_by_pair) ours.count = theirs.count;
      // A peer may be a whole collective ahead; what it sends then is no concern of this one. Of
      // those before, all that was meant for this rank has been received.
      const auto ahead = static_cast<std::int32_t>(theirs.sequence - ours.sequence);
      if (ahead < 0 || (ahead == 0 && ours != theirs)) mismatch(peer, ours, theirs);
    }
  }
}

void Run::mismatch(int member, const Signature& ours, const Signature& theirs) const {
  std::string text = "rank " + std::to_string(binding_->member(rank_)) + " called " +
                     describe(ours) + details(*binding_) + ", rank " + std::to_string(member) +
                     " called " + describe(theirs);
  if (ours.plan != theirs.plan && ours.collective == theirs.collective && ours.root == theirs.root)
    text += " with another algorithm or other parameters of it";
  if (ours.scale != theirs.scale && ours.op == theirs.op) text += " with another scale";
  throw Mismatch(text + ": all ranks must make the same calls in the same order");
}

}  // namespace weft

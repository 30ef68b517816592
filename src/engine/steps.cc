// The verbs: what each of them does. A step that cannot go changes nothing and is tried again.
#include <algorithm>
#include <utility>

#include "engine/run.h"
#include "weft/error.h"

namespace weft {

[[gnu::hot]] bool Run::go(const Prepared& now, std::size_t chunk) {
  blocked_on_ = -1;
  switch (now.step->verb) {
    case Verb::kCopy:
      return copy(now, chunk);
    case Verb::kReduce:
      return reduce(now, chunk);
    case Verb::kPut:
      return put(now, chunk);
    case Verb::kSignal:
      return signal(now);
    case Verb::kWait:
      return wait(now);
    case Verb::kCredit:
      credit(*now.step);
      return true;
    case Verb::kFlush:
      return flushed();
    case Verb::kNative:
      return native();
  }
  throw InternalError("unknown verb");
}

[[gnu::hot]] bool Run::copy(const Prepared& now, std::size_t chunk) {
  Span part = span(now, chunk);
  if (is_sent_next(now)) {
    put_off(now, part);
    return true;
  }
  if (!targets(now, part)) return false;
  const Operand& from = now.step->src[0];
  bool slot = from.buffer == Buffer::kSlot;
  Width width = slot ? binding_->plan->shape.channels[from.channel].width : Width::kPlain;
  kernels::Source typed{nullptr, binding_->is_wide(width)};
  typed.data =
      slot ? received(from, part.count) : user(from, place(now, now.step->dst.size()), part);
  bool same_type = std::all_of(targets_.begin(), targets_.end(),
                               [&](const kernels::Target& t) { return t.wide == typed.wide; });
  if (!same_type && (binding_->accumulator != binding_->element || binding_->reduce_narrow)) {
    sources_.assign(1, typed);
    combine(part.count, 1.0, kernels::Order::kFromLeft);
    return true;
  }
  const std::size_t bytes = part.count * binding_->bytes_in(width);
  const std::vector<Operand>& dst = now.step->dst;
  if (targets_.size() > 1)
    kernels::copy({targets_[0].data, filling(dst[0], from)},
                  {targets_[1].data, filling(dst[1], from)}, typed.data, bytes);
  else
    kernels::copy(targets_[0].data, typed.data, bytes, filling(dst[0], from));
  return true;
}

kernels::Filling Run::filling(const Operand& target, const Operand& from) const {
  if (target.buffer == Buffer::kSlot) return {kernels::To::kSlot, whole(from)};
  // What has been read is in the caches, and is written there: the copy counts alone.
  if (binding_->rewrites) return kernels::To::kOwn;
  return {kernels::To::kOwn, whole(target)};
}

[[gnu::hot]] bool Run::reduce(const Prepared& now, std::size_t chunk) {
  if (at_.step + 1 < round_->steps.size() && left_to_put(now, round_->steps[at_.step + 1]))
    return true;
  const Span part = span(now, chunk);
  if (!terms(now, part)) return false;
  add_up(*now.step, part.count);
  return true;
}

[[gnu::hot]] bool Run::terms(const Prepared& now, const Span& part) {
  const Step& step = *now.step;
  if (!targets(now, part)) return false;
  sources_.clear();
  for (std::size_t i = 0; i < step.src.size(); ++i) {
    const Operand& from = step.src[i];
    if (from.buffer == Buffer::kSlot)
      sources_.push_back({received(from, part.count),
                          binding_->is_wide(binding_->plan->shape.channels[from.channel].width)});
    else
      sources_.push_back(
          {user(from, place(now, step.dst.size() + i), part), binding_->is_wide(Width::kPlain)});
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

[[gnu::hot]] bool Run::signal(const Prepared& now) {
  const Step& step = *now.step;
  if (!room(step)) return false;
  if (read_in_place_) confirm_reads();
  Filled& filled = filled_[step.channel];
  Outgoing& out = outgoing(step, now.elements);
  if (!filled.full) {
    send(step, out, {});
    return true;
  }
  out.bytes = filled.bytes;
  out.whole = filled.whole;
  out.source = filled.data;
  if (filled.is_source || out.bytes <= kInlineBytes) {
    out.passing = true;
    filled.full = !send_source(step, out);
    return !filled.full;
  }
  filled.full = false;
  const Slots::Spot at = spot(step.channel);
  Slot slot{filled.data, lane_->slots.where(at.place), true};
  out.slot = &slot;
  send(step, out, at);
  return true;
}

[[gnu::hot]] bool Run::wait(const Prepared& now) {
  const Step& step = *now.step;
  int peer = peer_of(step.peers[0]), channel = channel_of(step.channel);
  LaneState::Traffic& with = lane_->traffic(peer, channel);
  const Header* const arrived = lane_->endpoint.arrival(peer, channel, with.waited);
  if (!arrived) {
    blocked_on_ = peer;
    return false;
  }
  compare(step.peers[0].at(at_.round), *arrived, now.elements);
  ++with.waited;
  if (arrived->bytes == 0 || arrived->bytes > kInlineBytes)
    peer_buffers_[static_cast<std::size_t>(step.peers[0].at(at_.round))] = {arrived->input,
                                                                            arrived->output};
  return true;
}

[[gnu::hot]] void Run::credit(const Step& step) {
  int peer = peer_of(step.peers[0]), channel = channel_of(step.channel);
  LaneState::Traffic& with = lane_->traffic(peer, channel);
  if (with.credited == with.waited) [[unlikely]]
    refuse("credits a message of rank " + std::to_string(peer) + " that it has not received");
  lane_->endpoint.credit(peer, channel, ++with.credited);
  if (with.back) lane_->slots.come_back(std::exchange(with.back, nullptr));
}

bool Run::puts_are_read() {
  std::erase_if(unread_puts_, [&](const UnreadPut& put) {
    return lane_->endpoint.settled(put.peer, put.channel, put.number, put.bytes);
  });
  if (!unread_puts_.empty()) blocked_on_ = unread_puts_.front().peer;
  return unread_puts_.empty();
}

[[gnu::hot]] void Run::compare(int peer, const Header& theirs, std::size_t elements) const {
  Signature ours = binding_->signature;
  if (binding_->count_by_pair) ours.count = elements;
  if (ours != theirs.signature) mismatch(binding_->member(peer), ours, theirs.signature);
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

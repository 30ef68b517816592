// A put: its source goes to its readers. How is the fabric's business. A copy into a slot that is
// sent next is one, too.
#include <algorithm>
#include <utility>

#include "engine/run.h"

namespace weft {

[[gnu::hot]] Outgoing& Run::outgoing(const Step& step, std::size_t elements) {
  out_.channel = channel_of(step.channel);
  if (binding_->count_by_pair) out_.signature.count = elements;
  readers_.clear();
  for (const Index& index : step.peers) {
    const int peer = peer_of(index);
    readers_.push_back({.peer = peer, .number = lane_->traffic(peer, out_.channel).posted});
  }
  out_.readers = readers_;
  out_.source = nullptr;
  out_.late = nullptr;
  out_.bytes = out_.whole = 0;
  out_.where = {};
  out_.aimed = out_.passing = false;
  out_.slot = nullptr;
  return out_;
}

[[gnu::hot]] bool Run::room(const Step& step) {
  int channel = channel_of(step.channel);
  for (const Index& index : step.peers) {
    int peer = peer_of(index);
    if (!lane_->endpoint.room(peer, channel, lane_->traffic(peer, channel).posted)) {
      blocked_on_ = peer;
      return false;
    }
  }
  return true;
}

[[gnu::hot]] bool Run::put(const Prepared& now, std::size_t chunk) {
  const Step& step = *now.step;
  if (!room(step)) return false;
  if (read_in_place_) confirm_reads();
  const Span part = span(now, chunk);
  Outgoing& out = outgoing(step, now.elements);
  out.bytes = part.count * binding_->element;
  out.source = user(step.src[0], place(now, step.dst.size()), part);
  if (out.bytes > kInlineBytes) aim(now, part, out);
  if (at_.step > 0 && left_to_put(round_->steps[at_.step - 1], now)) {
    terms(round_->steps[at_.step - 1], part);
    late_ = {round_->steps[at_.step - 1].step, part.count};
    out.late = this;
  }
  return send_source(step, out);
}

// A put that names no output of its reader may be loaded from where it lies, and short payloads
// are sent in the message: nothing would be saved.
[[gnu::hot]] bool Run::left_to_put(const Prepared& reduction, const Prepared& put) const {
  const Step &sum = *reduction.step, &sent = *put.step;
  if (!adds_up_late_ || reduction.elements * binding_->element <= kInlineBytes) return false;
  return sum.verb == Verb::kReduce && sent.verb == Verb::kPut && sum.dst.size() == 1 &&
         sent.dst.size() == 1 && sum.dst[0] == sent.src[0] && sum.lag == sent.lag &&
         reduction.chunks == put.chunks && reduction.elements == put.elements;
}

[[gnu::hot]] bool Run::adds_up_there(const Outgoing& out) const {
  const Reader& reader = readers_.front();
  if (!reader.copied) return false;
  if (reader.holds_slot) return kernels::is_plain(out.bytes, {kernels::To::kSlot, out.whole});
  const std::byte* const there = reader.place;
  bool reads_there = false;
  for (const kernels::Source& source : sources_) {
    const auto* const from = static_cast<const std::byte*>(source.data);
    reads_there |= from == there;
    // Another part of what is still to be read lies there.
    if (from != there && from < there + out.bytes && there < from + out.bytes) return false;
  }
  return reads_there || kernels::is_plain(out.bytes, kernels::To::kPeer);
}

[[gnu::hot]] void Run::write(std::byte* there) {
  if (there) targets_.push_back({there, targets_[0].wide});
  add_up(*late_.step, late_.count);
  if (read_in_place_) confirm_reads();
}

[[gnu::hot]] bool is_put(const Step& copy, const Step& signal) {
  return copy.verb == Verb::kCopy && copy.dst.size() == 1 && copy.dst[0].buffer == Buffer::kSlot &&
         copy.src[0].buffer != Buffer::kSlot && signal.verb == Verb::kSignal &&
         signal.peers.size() == 1 && signal.channel == copy.dst[0].channel &&
         signal.lag == copy.lag;
}

[[gnu::hot]] bool Run::is_sent_next(const Prepared& now) const {
  const std::size_t next = at_.step + 1;
  if (next == round_->steps.size() || round_->steps[next].chunks != now.chunks) return false;
  const Step& copy = *now.step;
  return is_put(copy, *round_->steps[next].step) && place(now, 1).owner == rank_ &&
         binding_->plan->shape.channels[copy.dst[0].channel].width == Width::kPlain;
}

[[gnu::hot]] void Run::put_off(const Prepared& now, const Span& part) {
  Filled& filled = filled_[now.step->dst[0].channel];
  filled.full = filled.is_source = true;
  filled.bytes = part.count * binding_->element;
  filled.whole = whole(now.step->src[0]);
  filled.data = user(now.step->src[0], place(now, 1), part);
}

[[gnu::hot]] bool Run::send_source(const Step& step, Outgoing& out) {
  if (out.bytes <= kInlineBytes) {
    send(step, out, {});
    return true;
  }
  const Slots::Spot at = spot(step.channel);
  const Slot own{lane_->slots.at(at.place), lane_->slots.where(at.place)};
  Slot slot = to_lend(out);
  if (!slot.data) slot = own;
  out.slot = &slot;
  lane_->endpoint.prepare(out);
  if (!slot.lend || !readers_.front().lent) {
    slot = own;
    const bool slotted = std::ranges::any_of(out.readers, &Reader::holds_slot);
    if (slotted && !slot_is_free(at, out.bytes)) return false;
  }
  send(step, out, at);
  return true;
}

[[gnu::hot]] Slot Run::to_lend(const Outgoing& out) const {
  if (out.bytes > binding_->lending.to || out.readers.size() != 1) return {};
  return lane_->slots.to_lend(binding_->lending.turn);
}

// Where the source lies, in a buffer of what length, and where the readers want it.
[[gnu::hot]] void Run::aim(const Prepared& now, const Span& part, Outgoing& out) {
  const Step& step = *now.step;
  const auto buffer = static_cast<std::size_t>(step.src[0].buffer);
  out.whole = whole(step.src[0]);
  if (binding_->where[buffer])
    out.where =
        binding_->where[buffer] + static_cast<std::size_t>(out.source - binding_->user[buffer]);
  out.aimed = !step.dst.empty();
  if (!out.aimed) return;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const Place& theirs = place(now, i);
    readers_[i].output = peer_buffers_[static_cast<std::size_t>(theirs.owner)].output;
    readers_[i].offset = offset_of(theirs, part);
  }
}

// What a reader may still read is noted before it is sent: a post may throw.
[[gnu::hot]] void Run::send(const Step& step, Outgoing& out, Slots::Spot spot) {
  if (out.late && !adds_up_there(out)) std::exchange(out.late, nullptr)->write(nullptr);
  for (const Reader& reader : out.readers) {
    ++lane_->traffic(reader.peer, out.channel).posted;
    if (out.bytes <= kInlineBytes) continue;
    if (reader.holds_slot && !reader.lent)
      lane_->slots.note(spot, out.bytes, reader.peer, out.channel, reader.number);
    if (reader.holds_source)
      unread_puts_.push_back({reader.peer, out.channel, reader.number, out.bytes});
  }
  lane_->endpoint.post(out);
  if (out.readers.size() == 1 && out.readers[0].lent)
    lane_->slots.lend(*out.slot, out.readers[0].peer, out.channel, out.readers[0].number,
                      out.bytes);
  ++lane_->sent[static_cast<std::size_t>(channel_of(step.channel))];
}

}  // namespace weft

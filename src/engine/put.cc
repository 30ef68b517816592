// What is sent: puts, whose source goes to its readers, and signals. How is the fabric's business.
// A copy into a slot that is signalled next is a put, too.
#include <algorithm>
#include <utility>

#include "engine/run.h"

namespace weft {

[[gnu::hot]] inline bool Run::address(const ResolvedStep& now) {
  readers_.clear();
  for (const int peer : std::span(now.peers, static_cast<std::size_t>(now.readers))) {
    const std::uint64_t number = lane_->traffic(peer, now.channel).posted;
    if (!lane_->endpoint.room(peer, now.channel, number)) {
      blocked_on_ = peer;
      return false;
    }
    readers_.push_back({.peer = peer, .number = number});
  }
  out_.readers = readers_;
  out_.channel = now.channel;
  if (binding_->count_by_pair) out_.signature.count = now.elements;
  out_.source = nullptr;
  out_.late = nullptr;
  out_.bytes = out_.whole = 0;
  out_.where = {};
  out_.aimed = out_.passing = false;
  out_.slot = nullptr;
  return true;
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

[[gnu::hot]] Slot Run::to_lend(const Outgoing& out) const {
  if (out.bytes > binding_->lending.to || out.readers.size() != 1) return {};
  return lane_->slots.to_lend(binding_->lending.turn);
}

// What a reader may still read is noted before it is sent: a post may throw.
[[gnu::hot]] inline void Run::send(Outgoing& out, Slots::Spot spot) {
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
  ++lane_->sent[static_cast<std::size_t>(out.channel)];
}

[[gnu::hot]] bool Run::send_long(const ResolvedStep& now, Outgoing& out) {
  const Slots::Spot at = spot(channel_of(now));
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
  send(out, at);
  return true;
}

[[gnu::hot]] inline bool Run::send_source(const ResolvedStep& now, Outgoing& out) {
  if (out.bytes > kInlineBytes) return send_long(now, out);
  send(out, {});
  return true;
}

// Where the source lies, in a buffer of what length, and where the readers want it.
[[gnu::hot]] void Run::aim(const ResolvedStep& now, const Span& part, Outgoing& out) {
  const auto buffer = static_cast<std::size_t>(now.from()->buffer);
  out.whole = whole(*now.from());
  if (now.passing) return;
  if (binding_->where[buffer])
    out.where = binding_->where[buffer] + static_cast<std::size_t>(out.source - user_[buffer]);
  out.aimed = now.targets > 0;
  if (!out.aimed) return;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const Place& theirs = now.into[i];
    readers_[i].output = peer_buffers_[static_cast<std::size_t>(theirs.owner)].output;
    readers_[i].offset = offset_of(theirs, part);
  }
}

[[gnu::hot]] void Run::leave_sum(const ResolvedStep& sum, const Span& part) {
  terms(sum, part);
  late_ = {sum.step, part.count};
  out_.late = this;
}

[[gnu::hot]] bool Run::put(const ResolvedStep& now, std::size_t chunk) {
  if (!address(now)) return false;
  if (read_in_place_) confirm_reads();
  const Span part = span(now, chunk);
  Outgoing& out = out_;
  out.bytes = part.count * binding_->element;
  out.source = user(*now.from(), part);
  out.passing = now.passing;
  // What an earlier copy filled does not go with a later signal.
  if (now.passing) full_[static_cast<std::size_t>(channel_of(now))] = false;
  if (out.bytes > kInlineBytes) aim(now, part, out);
  if (lane_->adds_up_late && at_.step > 0) {
    const ResolvedStep& before = round_->steps[at_.step - 1];
    if (before.left) leave_sum(before, part);
  }
  return send_source(now, out);
}

[[gnu::hot]] bool Run::signal(const ResolvedStep& now) {
  if (!address(now)) return false;
  if (read_in_place_) confirm_reads();
  const auto channel = static_cast<std::size_t>(channel_of(now));
  const Filled& filled = filled_[channel];
  Outgoing& out = out_;
  if (!full_[channel]) {
    send(out, {});
    return true;
  }
  full_[channel] = false;
  out.bytes = filled.bytes;
  out.source = filled.data;
  if (out.bytes <= kInlineBytes) {
    out.passing = true;
    send(out, {});
    return true;
  }
  const Slots::Spot at = spot(channel_of(now));
  Slot slot{filled.data, lane_->slots.where(at.place), true};
  out.slot = &slot;
  send(out, at);
  return true;
}

}  // namespace weft

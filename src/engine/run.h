// One program under way: a program counter that any thread may carry on.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/binding.h"
#include "engine/native.h"
#include "engine/pace.h"
#include "engine/round.h"
#include "engine/slots.h"
#include "kernels/copy.h"

namespace weft {

// The state of a lane that outlives runs: message numbers and slot memory. One thread at a time.
struct LaneState {
  LaneState(Endpoint& endpoint, int members);

  // With one peer on one channel, both directions.
  struct Traffic {
    std::uint64_t posted = 0;         // messages sent to the peer
    std::uint64_t waited = 0;         // messages from the peer that were waited for
    std::uint64_t credited = 0;       // of those, credited by us
    const std::byte* back = nullptr;  // the message not credited lies in a slot that we had lent
  };
  Traffic& traffic(int peer, int channel) {
    return with[static_cast<std::size_t>(peer * kMaxChannels + channel)];
  }

  Endpoint& endpoint;
  const bool adds_up_late;  // the fabric takes late payloads
  std::vector<Traffic> with;
  std::array<std::uint64_t, kMaxChannels> sent{};  // messages on a channel: turns the slots
  Slots slots;
};

// Executes one rank's program. `advance` may be called from different threads, one at a time.
class Run final : LatePayload {
 public:
  // Does not start. `rank`: own rank in the plan. `input`: what is read in place of the caller's
  // input, which may be the same. The lane must hold slot memory if binding.uses_slots.
  void start(const Binding& binding, LaneState& lane, int rank, std::byte* input);

  // Goes on until finished (true), or until nothing can go or the pace ends it (false). Throws
  // Mismatch, InvalidArgument (a peer's buffer is not symmetric), Aborted (a peer's buffer may have
  // changed since it was read).
  bool advance(Pace pace = Pace::kFree);
  // Whether anything went since this was last asked; of a new run also if nothing did.
  bool went();
  // Whether the last advance() ended for its pace: nothing blocks the run.
  bool paused() const { return paused_; }

  // Throws Mismatch if a peer has sent a message of the same collective that does not fit this
  // rank's call. Otherwise two roots that both send would wait for each other's credits.
  void compare_arrivals();

  // The member that a blocked run waits for, and a sentence about it.
  int waits_for() const { return blocked_on_; }
  std::string where() const;

 private:
  inline bool go(const ResolvedStep& now, std::size_t chunk);
  bool copy(const ResolvedStep& now, std::size_t chunk);
  // Into several targets, or of another type.
  bool copy_apart(const ResolvedStep& now, const Span& part);
  kernels::Filling filling(const Place& target, const Place& from) const;
  // Bytes of the caller's buffer that an operand is a part of; 0 for a slot.
  std::size_t whole(const Place& place) const {
    if (place.buffer == Buffer::kSlot) return 0;
    return binding_->part(place.buffer).total() * binding_->element;
  }
  bool reduce(const ResolvedStep& now, std::size_t chunk);
  // Finds what a reduction reads and writes. False: a slot is not free.
  bool terms(const ResolvedStep& now, const Span& part);
  void add_up(const Step& step, std::size_t count);
  // Whether the sum is written to its reader as it is added up. That saves a copy. But the stores
  // of a reduction fetch each line from the core that read it last. Copies of whole lines do not.
  // So it is done where a copy fetches them, too, or where this core has just read a term there.
  bool adds_up_there(const Outgoing& out) const;
  // Adds up late_, then confirms what it has read.
  void write(std::byte* there) override;
  // targets_ = scale * (sources_ added up), rounded for narrow slots.
  void combine(std::size_t count, double scale, kernels::Order order);
  bool put(const ResolvedStep& now, std::size_t chunk);
  // A sum that was left to the put, which is out_.
  void leave_sum(const ResolvedStep& sum, const Span& part);
  // Makes out_ a message of this step to its peers, without a payload yet. False: one of them has
  // no room for it.
  inline bool address(const ResolvedStep& now);
  // Sends a payload from its source. False: a slot that the fabric wants for it is not free.
  inline bool send_source(const ResolvedStep& now, Outgoing& out);
  bool send_long(const ResolvedStep& now, Outgoing& out);
  // A slot that is lent with the message; without data if it shall not be.
  Slot to_lend(const Outgoing& out) const;
  void aim(const ResolvedStep& now, const Span& part, Outgoing& out);
  inline void send(Outgoing& out, Slots::Spot spot);
  bool signal(const ResolvedStep& now);
  bool wait(const ResolvedStep& now);
  void credit(const ResolvedStep& now);
  bool flushed() { return unread_puts_.empty() || puts_are_read(); }
  bool puts_are_read();
  bool native();

  // The plan's.
  int channel_of(const ResolvedStep& now) const { return now.channel - binding_->first_channel; }
  Span span(const ResolvedStep& now, std::size_t chunk) const {
    if (now.chunks == 1) return {0, now.elements};
    return chunk_of(now.elements, binding_->chunk, chunk);
  }
  // Bytes before the chunk in its buffer.
  std::size_t offset_of(const Place& place, const Span& span) const {
    return place.bytes + span.first * binding_->element;
  }
  std::byte* user(const Place& place, const Span& span) {
    if (place.owner != rank_) return in_peer_buffer(place, span);
    std::byte* const buffer = user_[static_cast<std::size_t>(place.buffer)];
    if (span.count && (!buffer || span.first + span.count > place.elements)) [[unlikely]]
      past_the_end(place);
    return buffer + offset_of(place, span);
  }
  std::byte* in_peer_buffer(const Place& place, const Span& span);
  // The payload of the oldest uncredited message of a peer, which must have `elements` elements.
  const std::byte* received(const Place& slot, std::size_t elements);
  // What a step reads, in the caller's memory, a peer's or a slot.
  const std::byte* source(const Place& place, const Span& span) {
    if (place.buffer == Buffer::kSlot) return received(place, span.count);
    return user(place, span);
  }
  // Finds where a step writes. False: a slot is not free.
  bool target(const Place& place, const Span& span, std::byte*& data) {
    if (place.buffer != Buffer::kSlot) {
      data = user(place, span);
      return true;
    }
    data = own_slot(place.channel, span.count * binding_->bytes_in(place.width));
    return data != nullptr;
  }
  bool targets(const ResolvedStep& now, const Span& span);
  // To be called after reads in peers' buffers, before their results go to anybody.
  void confirm_reads() const;
  [[noreturn]] void out_of_reach(const Place& place) const;
  [[noreturn]] void past_the_end(const Place& place) const;
  bool slot_is_free(Slots::Spot spot, std::size_t bytes);
  // The own slot on `channel` for `bytes`, or null while a reader may still be in it.
  std::byte* own_slot(int channel, std::size_t bytes);
  // Of the next message on `channel`.
  Slots::Spot spot(int channel) const;
  inline void compare(const ResolvedStep& now, const Header& header) const;
  // Throws InvalidPlan: the step under way does what the verifier would have refused.
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void mismatch(int member, const Signature& ours, const Signature& theirs) const;

  const Binding* binding_ = nullptr;
  LaneState* lane_ = nullptr;
  int rank_ = 0;
  std::array<std::byte*, 2> user_{};  // its buffers, indexed by Buffer

  Position at_;
  Position seen_at_;  // by went()
  std::size_t seen_unread_ = 0;
  Rounds rounds_;
  const Round* round_ = nullptr;  // that it stands in
  int blocked_on_ = -1;
  bool paused_ = false;
  bool read_in_place_ = false;  // a peer's buffer was read

  // The own slot of a channel that is filled and not yet sent.
  struct Filled {
    std::size_t bytes = 0;
    std::byte* data = nullptr;
    alignas(64) std::array<std::byte, kInlineBytes> inlined;
  };
  std::array<Filled, kMaxChannels> filled_;
  std::bitset<kMaxChannels> full_;  // which of them are

  Outgoing out_;                 // the message that is being sent, and the buffers of the call
  std::vector<Reader> readers_;  // its readers
  struct UnreadPut {             // a put by reference that may not have been read
    int peer, channel;
    std::uint64_t number;
    std::size_t bytes;
  };
  std::vector<UnreadPut> unread_puts_;
  // What the lane's natives work on. Of a run that failed it is under way until the lane closes.
  std::unique_ptr<NativeStep> native_;

  struct PeerBuffers {
    Location input, output;
  };
  std::vector<PeerBuffers> peer_buffers_;  // by plan rank, from its messages
  bool knows_buffers_ = false;             // some are not empty

  std::vector<kernels::Source> sources_;
  std::vector<kernels::Target> targets_;
  struct LateSum {  // of sources_, which the put under way sends
    const Step* step = nullptr;
    std::size_t count = 0;
  } late_;
};

// Throws Aborted if a member has aborted the lane, as far as that is known here.
void check_not_aborted(const Endpoint& endpoint);

Buffers buffers_of(const Binding& binding);
// Of the caller's memory, what peers may write into while a run of `binding` lasts.
std::span<std::byte> written_by_peers(const Binding& binding);

}  // namespace weft

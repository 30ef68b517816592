// One program under way: a program counter that any thread may carry on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/binding.h"
#include "engine/slots.h"

namespace weft {

// What outlives runs on one lane: message numbers and slot memory. One thread at a time.
struct LaneState {
  LaneState(Endpoint& endpoint, int members);

  struct Stream {
    std::uint64_t posted = 0;    // messages sent to the peer
    std::uint64_t waited = 0;    // messages from the peer that were waited for
    std::uint64_t credited = 0;  // of those, returned
  };
  Stream& stream(int peer, int channel) {
    return streams[static_cast<std::size_t>(peer * kMaxChannels + channel)];
  }

  Endpoint& endpoint;
  std::vector<Stream> streams;
  std::array<std::uint64_t, kMaxChannels> sent{};  // messages on a channel: turns the slots
  Slots slots;
};

// Executes one rank's program. `advance` may be called from different threads, one at a time.
class Run {
 public:
  // Does not start. `rank`: own rank in the plan. The lane must hold slot memory if
  // needs_slots(binding).
  void start(const Binding& binding, LaneState& lane, int rank);

  // Goes on until finished (true) or nothing can go (false). Throws Mismatch,
  // InvalidArgument (a peer's buffer is not symmetric).
  bool advance();

  // Throws Mismatch if a peer has sent, as part of the same collective, what this rank's call
  // does not fit: two roots that both send would otherwise wait for each other's credits.
  void compare_arrivals();

  // What a blocked run waits for: the endpoint's member, and a sentence.
  int waits_for() const { return blocked_on_; }
  std::string where() const;

 private:
  struct Piece {
    std::byte* data;
    std::size_t count;
  };

  void enter_round();
  bool next_round();
  bool go(const Step& step, std::size_t chunk);
  bool copy(const Step& step, std::size_t chunk);
  bool reduce(const Step& step, std::size_t chunk);
  bool put(const Step& step, std::size_t chunk);
  bool deliver(const Step& step, std::size_t chunk);
  bool signal(const Step& step);
  bool wait(const Step& step);
  void credit(const Step& step);
  bool flushed();

  std::size_t extent(const Step& step) const;
  Span span(const Step& step, std::size_t chunk) const;
  // Bytes before it in its buffer.
  std::size_t offset_of(const Operand& operand, const Span& span) const;
  std::byte* user(const Operand& operand, const Span& span);
  const std::byte* received(int peer, int channel);
  // Of another rank's output; null if it is not known to be in reach.
  std::byte* reachable(const Operand& output, const Span& span);
  bool slot_is_free(std::size_t begin, std::size_t end);
  // The own slot on `channel` for `bytes`, or null while a reader may still be in it.
  std::byte* own_slot(int channel, std::size_t bytes);
  std::size_t slot_offset(int channel) const;
  bool targets(const Step& step, const Span& span);
  bool room(const Step& step);
  void send(const Step& step, const Header& header, const void* payload, std::size_t slot_begin,
            std::size_t slot_end);
  void send_to(const Index& to, int plan_channel, const Header& header, const void* payload,
               std::size_t slot_begin, std::size_t slot_end);
  Header header(std::size_t elements) const;
  void compare(int peer, const Header& header, const Step& step) const;
  [[noreturn]] void mismatch(int member, const Signature& ours, const Signature& theirs) const;

  int peer_of(const Index& index) const { return binding_->member(index.at(round_)); }
  int channel_of(int channel) const { return binding_->first_channel + channel; }
  bool is_me(const Operand& operand) const { return operand.rank.at(round_) == rank_; }

  const Binding* binding_ = nullptr;
  LaneState* lane_ = nullptr;
  int rank_ = 0;

  std::size_t section_ = 0;
  int round_ = 0;
  std::size_t trip_ = 0, trips_ = 0, step_ = 0;
  std::vector<std::size_t> chunks_;  // by step, in this round
  int blocked_on_ = -1;

  // What was written into the own slot of a channel and not yet sent.
  struct Filled {
    bool full = false;
    std::size_t bytes = 0;
    std::byte* data = nullptr;
    alignas(64) std::array<std::byte, kInlineBytes> inlined;
  };
  std::array<Filled, kMaxChannels> filled_;
  std::array<std::size_t, kMaxChannels> slot_base_{};

  struct Debt {  // a put by reference that its reader has not credited
    int peer, channel;
    std::uint64_t number;
  };
  std::vector<Debt> debts_;

  struct Remote {
    Location input, output;
  };
  std::vector<Remote> remote_;  // by plan rank, from its messages

  std::vector<std::byte*> reached_;  // a put's destinations
  std::vector<kernels::Source> sources_;
  std::vector<kernels::Target> targets_;
};

// Whether a run of `binding` may put payload into slot memory.
bool needs_slots(const Binding& binding);

}  // namespace weft

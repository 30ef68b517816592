// Executes the programs of all ranks at once: who may go on, who has sent, received and credited
// what, and what a sender must wait for. What happens besides is a domain's, which derives from
// this: values and clocks in the verifier, time in the cost model.
//
// One schedule stands for all. No step chooses: control flow depends on no data, a wait names its
// stream and takes the next message of it, and a step that can go can still go after any step of
// another rank (only the rank itself takes its messages, slots and mailboxes). So the steps that
// run, what each message carries and what happens before what are the same in every schedule, and a
// schedule gets stuck only where all do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "execute/streams.h"
#include "plan/walk.h"
#include "weft/error.h"

namespace weft::execute {

// Why a step cannot go.
struct Hold {
  enum Why : std::uint8_t { kNothing, kMessage, kMailbox, kSlot, kFlush };
  Why why = kNothing;
  std::int32_t what = kNone;  // the stream of a message or mailbox; the slot
  explicit operator bool() const { return why != kNothing; }
};

// The slots of a rank: of all channels of its plan, and of the plans before on the lane.
struct Slot {
  int readers = 0;  // of messages that had it, which have not credited them
};

// One rank's side.
struct Rank {
  Cursor cursor;
  Hold hold;
  int unread = 0;  // own puts whose sources may still be read, one for each reader
  bool entered = false;
  bool through = false;
  struct Turn {  // of a channel
    Channel channel;
    std::int32_t first = 0;    // of its slots
    std::uint64_t number = 0;  // of the next message
    std::int32_t at = first;   // the slot that it takes
    std::int32_t slot() const { return at; }
    void advance() { at = first + static_cast<std::int32_t>(slot_of(++number, channel)); }
  };
  std::vector<Turn> turns = {};
  std::int32_t earlier = 0;  // slots of the plans before that were seen to be back
};

// `Types` has Entry, Stream, Slot and Rank, each derived from the above. `Domain` derives from this
// and has
//   int peer_of(rank, index)         whom an index of the step at hand stands for
//   void enter(rank)                 before a rank's first step: calls begin()
//   void step(rank)                  does the step at hand, which can go: calls perform()
//   void copy, reduce, put, signal, flush(rank)   the verbs; put and signal call send()
//   void wait(rank, entry)           takes the message
//   bool credit(rank, entry)         credits it; false: it is not to be credited
//   void nothing_to_credit(rank)     the step credits a message that was not received
//   bool leave(rank)                 at the end of the program; true: enter() the next one
// A domain says when a message can be seen, by show(), and when a put is read, by read(): at its
// credit, if not before.
template <typename Domain, typename Types>
class Machine {
 protected:
  using E = typename Types::Entry;
  using S = typename Types::Stream;
  using R = typename Types::Rank;

  // `depth`: entries of a mailbox.
  Machine(int ranks, int channels, int depth)
      : streams_(ranks, channels, depth),
        ranks_(static_cast<std::size_t>(ranks)),
        slots_(static_cast<std::size_t>(ranks)) {}

  // Until every rank waits, or is through, or somebody has stopped it.
  void run_ready() {
    while (!ready_.empty() && !stopped_) {
      const int rank = ready_.back();
      ready_.pop_back();
      go(rank);
    }
  }

  // The rank goes on to a plan with these channels.
  void begin(int rank, const PreparedProgram& program, const std::vector<Channel>& channels) {
    R& own = state(rank);
    std::vector<typename Types::Slot>& slots = slots_[static_cast<std::size_t>(rank)];
    own.cursor = Cursor(program);
    own.turns.clear();
    for (const Channel& channel : channels) {
      own.turns.push_back({channel, static_cast<std::int32_t>(slots.size())});
      slots.resize(slots.size() + static_cast<std::size_t>(channel.slots));
    }
  }

  // Why the step at hand, or the end of the program, cannot go. Leaves its streams in at_: those to
  // its peers, or the one from its peer.
  Hold hold_of(int rank) {
    const R& own = state(rank);
    const Step* step = own.cursor.step();
    if (!step || step->verb == Verb::kFlush) return own.unread ? Hold{Hold::kFlush} : Hold{};
    at_.clear();
    switch (step->verb) {
      case Verb::kCopy:
      case Verb::kReduce:
        for (const Operand& operand : step->dst)
          if (operand.buffer == Buffer::kSlot)
            if (Hold hold = slot_hold(rank, operand.channel)) return hold;
        return {};
      case Verb::kPut:
      case Verb::kSignal:
        for (const Index& peer : step->peers) {
          at_.push_back(streams_.find(rank, domain().peer_of(rank, peer), step->channel));
          if (!streams_.room(streams_[at_.back()])) return {Hold::kMailbox, at_.back()};
        }
        return step->verb == Verb::kPut ? slot_hold(rank, step->channel) : Hold{};
      case Verb::kWait:
      case Verb::kCredit:
        at_.push_back(streams_.find(domain().peer_of(rank, step->peers[0]), rank, step->channel));
        if (step->verb == Verb::kCredit) return {};
        if (const std::int32_t next = streams_[at_[0]].waited;
            next == kNone || !streams_.entry(next).here)
          return {Hold::kMessage, at_[0]};
        return {};
      case Verb::kFlush:
      case Verb::kNative:
        break;
    }
    return {};
  }

  void perform(int rank) {
    switch (state(rank).cursor.step()->verb) {
      case Verb::kCopy:
        return domain().copy(rank);
      case Verb::kReduce:
        return domain().reduce(rank);
      case Verb::kPut:
        return domain().put(rank);
      case Verb::kSignal:
        return domain().signal(rank);
      case Verb::kWait:
        return receive(rank);
      case Verb::kCredit:
        return credit_oldest(rank);
      case Verb::kFlush:
        return domain().flush(rank);
      case Verb::kNative:
        throw InternalError("an opaque plan is run by nobody but the engine");
    }
  }

  // Sends the message of the step at hand to all its peers. Every message takes the slot whose turn
  // it is, with a payload or without. `fill(i, entry number)` says what goes to peer number i.
  template <typename Fill>
  void send(int rank, bool unread, Fill&& fill) {
    Rank::Turn& turn = state(rank).turns[state(rank).cursor.step()->channel];
    const std::int32_t slot = turn.slot();
    turn.advance();
    this->slot(rank, slot).readers += static_cast<int>(at_.size());
    for (std::size_t i = 0; i < at_.size(); ++i) {
      const std::int32_t number = streams_.post(at_[i]);
      E& entry = streams_.entry(number);
      entry.slot = slot;
      entry.unread = unread;
      state(rank).unread += unread;
      fill(i, number);
    }
  }
  // The message can be seen from now on.
  void show(E& entry) {
    entry.here = true;
    wake(streams_[entry.stream].to, Hold::kMessage, entry.stream);
  }
  // One reader of a put is done with its source.
  void read(E& entry) {
    entry.unread = false;
    const int from = streams_[entry.stream].from;
    if (--state(from).unread == 0) wake(from, Hold::kFlush, kNone);
  }

  R& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const R& state(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  typename Types::Slot& slot(int rank, std::int32_t slot) {
    return slots_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)];
  }

  // The stream to the peer, or from it, that could change a rank's hold; none if nobody could.
  std::int32_t holder(int rank) {
    const Hold hold = state(rank).hold;
    if (hold.why == Hold::kMessage || hold.why == Hold::kMailbox) return hold.what;
    for (std::int32_t stream = 0; stream < streams_.size(); ++stream) {
      if (streams_[stream].from != rank) continue;
      for (std::int32_t at = streams_[stream].first; at != kNone; at = streams_.entry(at).next)
        if (hold.why == Hold::kSlot ? streams_.entry(at).slot == hold.what
                                    : streams_.entry(at).unread)
          return stream;
    }
    return kNone;
  }

  Streams<E, S> streams_;
  std::vector<R> ranks_;
  std::vector<int> ready_;        // the last one goes next
  std::vector<std::int32_t> at_;  // streams of the step at hand
  bool stopped_ = false;

 private:
  Domain& domain() { return static_cast<Domain&>(*this); }

  // Until a step cannot go, or the rank is through.
  void go(int rank) {
    R& own = state(rank);
    if (!std::exchange(own.entered, true)) domain().enter(rank);
    for (;;) {
      own.hold = hold_of(rank);
      if (own.hold || stopped_) return;
      if (own.cursor.step()) {
        domain().step(rank);
        own.cursor.advance();
      } else if (domain().leave(rank)) {
        domain().enter(rank);
      } else {
        own.through = true;
        return;
      }
    }
  }

  void wake(int rank, Hold::Why why, std::int32_t what) {
    Hold& hold = state(rank).hold;
    if (hold.why != why || hold.what != what) return;
    hold = {};
    ready_.push_back(rank);
  }

  // The slot whose turn it is on a channel is free if all readers have credited all messages that
  // had it. The bytes of an earlier plan's slots are not known here. So all of them must be back.
  Hold slot_hold(int rank, int channel) {
    R& own = state(rank);
    for (; own.earlier < own.turns[0].first; ++own.earlier)
      if (slot(rank, own.earlier).readers > 0) return {Hold::kSlot, own.earlier};
    const std::int32_t next = own.turns[static_cast<std::size_t>(channel)].slot();
    if (slot(rank, next).readers > 0) return {Hold::kSlot, next};
    return {};
  }

  void receive(int rank) {
    const std::int32_t stream = at_[0], number = streams_[stream].waited;
    streams_[stream].waited = streams_.entry(number).next;
    domain().wait(rank, number);
  }

  void credit_oldest(int rank) {
    const std::int32_t stream = at_[0], number = streams_[stream].first;
    if (number == streams_[stream].waited) return domain().nothing_to_credit(rank);
    if (!domain().credit(rank, number)) return;
    E& entry = streams_.entry(number);
    streams_[stream].first = entry.next;
    const int from = streams_[stream].from;
    if (entry.unread) read(entry);
    if (--slot(from, entry.slot).readers == 0) wake(from, Hold::kSlot, entry.slot);
    wake(from, Hold::kMailbox, stream);
  }

  std::vector<std::vector<typename Types::Slot>> slots_;  // by rank
};

}  // namespace weft::execute

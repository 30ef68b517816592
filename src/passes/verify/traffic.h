// Messages between all ranks on one lane: who sent what, who has received and returned it,
// and what a sender must wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes/verify/clocks.h"
#include "passes/verify/memory.h"
#include "passes/verify/scenario.h"
#include "passes/verify/values.h"
#include "weft/plan.h"

namespace weft::verifier {

enum class Payload : std::uint8_t {
  kNothing,
  kSlot,  // in the sender's slot, whole since it was sent
  kLazy,  // a put: in the sender's buffer, read when the reader reads
};

// One destination of a message, and when it last looked at the payload.
struct Reader {
  Access last;  // the rank is set from the start; time 0: it has not received it
  bool credited = false;
  bool delivered = false;  // the payload lies in the reader's output, from cell `target` on
  std::size_t target = 0;
};

struct Message {
  int rank = 0;
  int channel = 0;
  int run = 0;
  Event event = 0;  // the step that sent it
  Payload payload = Payload::kNothing;
  std::size_t extent = 0;  // elements of the range that it goes with
  Sum sum = 0;             // and their number for all counts
  std::size_t count = 0;   // elements of the payload
  std::size_t source = 0;  // first cell of a put's source
  bool stale = false;      // the source was written since
  Access flush;            // of the sender, after it; none: not flushed
  int outstanding = 0;     // destinations that have not credited it
  std::vector<Value> values;
  std::vector<Reader> readers;
  std::vector<std::uint32_t> clock;

  // Says where the sender's buffers are, in the room that a payload would take.
  bool bare() const { return payload == Payload::kNothing; }
};

// Messages of one (source, destination, channel), in order.
struct Stream {
  struct Entry {
    MessageId message;
    std::uint32_t reader;
  };
  std::vector<Entry> entries;
  std::size_t waited = 0;
  std::size_t credited = 0;
};

// Why a step cannot go. `peer` is who could change it.
struct Hold {
  enum Why { kNothing, kMessage, kMailbox, kSlot, kFlush };
  Why why = kNothing;
  int peer = -1;
  int channel = 0;
  explicit operator bool() const { return why != kNothing; }
};

// Not thread safe.
class Traffic {
 public:
  Traffic(int ranks, int channels);

  // `rank` goes on to its next plan, which has these channels.
  void begin_run(int rank, const std::vector<Channel>& channels);

  Stream& stream(int from, int to, int channel) {
    return streams_[(static_cast<std::size_t>(channel) * ranks_ + static_cast<std::size_t>(from)) *
                        ranks_ +
                    static_cast<std::size_t>(to)];
  }
  std::size_t size() const { return messages_.size(); }
  Message& operator[](MessageId id) { return messages_[id]; }

  // What keeps `rank` from receiving, from sending to a peer, from filling its slot, from
  // having its puts read.
  //
  // A plan starts while messages of earlier ones may still be out: then its first sends and
  // fills wait for more than is asked here. That cannot deadlock, since those messages are
  // returned in the course of earlier collectives, none of which waits for this one.
  // A sequence of plans is asked for all of it.
  Hold receive_hold(int rank, int from, int channel);
  Hold mailbox_hold(int rank, int to, int channel);
  Hold slot_hold(int rank, int channel);
  Hold flush_hold(int rank);

  // Sends. `message.readers` are its destinations.
  MessageId post(Message message);
  // Marks all of the rank's puts as read for good.
  void flush(int rank, const Access& by);
  // Returns the oldest message that is received and not returned, which there must be.
  void credit(int rank, int from, int channel);

 private:
  // One rank's side as a sender.
  struct Sender {
    std::vector<MessageId> sent;  // all messages
    std::size_t earlier = 0;      // of them, sent by earlier plans
    std::size_t returned = 0;     // a prefix that all destinations have credited
    std::vector<MessageId> puts;  // not flushed
    struct Turn {
      std::vector<MessageId> sent;        // in this plan, on this channel
      std::vector<std::size_t> returned;  // by slot: its first message that may be out
    };
    std::vector<Turn> turns;  // by channel
  };

  Sender& sender(int rank) { return senders_[static_cast<std::size_t>(rank)]; }
  Hold returned_hold(MessageId id, Hold::Why why) const;

  std::size_t ranks_;
  std::vector<Message> messages_;
  std::vector<Stream> streams_;
  std::vector<Sender> senders_;
};

}  // namespace weft::verifier

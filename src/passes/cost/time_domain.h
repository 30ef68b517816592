// Executes all ranks' programs in time. Each rank has a clock of its own and runs on until it waits
// for a message that is under way, for an entry of a mailbox, for a slot or for a flush. How
// messages travel is another's affair (carry): the cost model's (pricing.h) or a simulated
// network's (src/simulate).
//
// A message's depth is one more than that of the latest message, credited slot or flushed put that
// its sender has seen; and than that of the message before on its stream, which it follows, or
// on its port if the rank has one port. So what is sent after depth d is resolved is deeper than d.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "execute/machine.h"
#include "passes/cost/flow.h"
#include "passes/cost/programs.h"
#include "passes/cost/route.h"
#include "weft/price.h"

namespace weft::cost {

// How the buffers of a call are cut, the same on all ranks.
struct Cut {
  Partition input, output;
  std::size_t chunk = 1;  // elements
};

// The part of a call that is equal for all ranks.
struct Call {
  Cut cut;
  double element = 4;      // bytes
  double accumulator = 4;  // bytes, on wide channels
  double wire = 4;         // bytes, on narrow ones
  bool symmetric = false;
  bool in_place = true;  // a copy from input to output is none
  double buffers = 0;    // bytes of a rank's buffers together
  int mailbox = kFabricMailboxDepth;
};

// A million of them are kept: the order of members leaves no gaps.
struct Entry : execute::Entry {
  bool placed = false;  // its payload is where its reader will copy it to
  // When it arrives, and its depth. Once it is credited: when its sender knows that, and the depth
  // of that.
  double time = 0;
  std::int32_t depth = 0;
  std::int32_t record = 0;  // its number in the timeline
};
static_assert(sizeof(Entry) == 32);

struct Stream : execute::Stream {
  Route route;
  std::int32_t depth = 0;  // of its last message
  bool routed = false;     // `route` is known
};

struct Slot : execute::Slot {
  double back = 0;
  std::int32_t depth = 0;
};

struct Rank : execute::Rank {
  double now = 0;
  double began = 0;            // since when the step at hand, or the one before, need not wait
  std::int32_t heard = 0;      // the greatest depth that it knows of
  std::int32_t last_sent = 0;  // depth of its last message
  double puts_read = 0;        // when the last of its puts was read
  std::int32_t puts_depth = 0;
  // By channel: bytes in the own slot, between its filling and its signal; less than 0: it is
  // empty.
  std::array<double, kMaxChannels> filled = {};
};

struct Types {
  using Entry = cost::Entry;
  using Stream = cost::Stream;
  using Slot = cost::Slot;
  using Rank = cost::Rank;
};

// Used once. All arguments outlive it. Not thread safe.
class TimeDomain : protected execute::Machine<TimeDomain, Types> {
 public:
  TimeDomain(const TimeDomain&) = delete;
  TimeDomain& operator=(const TimeDomain&) = delete;

 protected:
  // Steps and messages are added to `timeline`, if there is one.
  TimeDomain(const Programs& programs, const Call& call, const Topology& topology,
             Timeline* timeline = nullptr);
  virtual ~TimeDomain() = default;

  // A message begins its way at flow.ready; `depth` is its entry's. Afterwards it is handed to
  // arrive(), with what is found. Messages through memory are here at once and not carried.
  virtual void carry(const Flow& flow, std::int32_t depth) = 0;
  void arrive(const Flow& flow);
  // A rank is through, then.
  virtual void end(int /*rank*/, double /*seconds*/) {}
  // The rank, or each at 0, begins then, with the next run_ready().
  void ready(int rank, double seconds);
  void ready_all();
  // What is known when nothing is under way any more. Throws InvalidPlan if ranks wait for ever.
  const Price& finish();

  const Topology& topology_;
  Routes routes_;
  Price price_;

 private:
  friend execute::Machine<TimeDomain, Types>;

  // time_domain.cc: scheduling and messages.
  void enter(int rank);
  void step(int rank);
  bool leave(int rank);
  void send(int rank, double bytes, bool lazy, bool placed);
  void wait_until(int rank, double when, std::int32_t depth);
  void record(int rank, double start, std::size_t sent);
  void put_is_read(Entry& entry, double when, std::int32_t depth);
  [[noreturn]] void stuck() const;

  // steps.cc: what each verb does, once it can go.
  void copy(int rank);
  void reduce(int rank);
  void put(int rank);
  void signal(int rank);
  void wait(int rank, std::int32_t entry);
  bool credit(int rank, std::int32_t entry);
  void nothing_to_credit(int rank);
  void flush(int rank);
  void take_slot(int rank, int channel);
  void take_slots(int rank);
  void take_entries(int rank);
  void fill_slots(int rank);
  bool is_placed(int rank, const Operand& source);
  const Entry* oldest(int rank, const Operand& slot);
  double fetch(int rank, double rate);
  double payload(int channel, std::size_t count) const;

  // References hold until the next one.
  Stream& stream(std::int32_t number) {
    Stream& found = streams_[number];
    if (!found.routed) {
      found.route = route_between(routes_, topology_, found.from, found.to);
      found.routed = true;
    }
    return found;
  }
  int peer_of(int rank, const Index& index) {
    const Cursor& cursor = state(rank).cursor;
    return programs_.peer(rank, cursor.section(), cursor.at(), index.at(cursor.round()));
  }

  const Programs& programs_;
  const Call& call_;
  const Topology::Rates rates_;
  std::vector<PreparedProgram> prepared_;  // by number: equal ranks share one
  Timeline* timeline_;
  bool has_memory_ = false;
};

}  // namespace weft::cost

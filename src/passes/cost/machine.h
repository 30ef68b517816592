// Executes all ranks' programs in time. As in the verifier no step chooses, so one order of
// execution stands for all: each rank has a clock of its own and runs on until it waits for a
// message that is under way, for a slot or for a flush. How messages travel is another's affair
// (carry): the cost model's (pricing.h) or a simulated network's (src/simulate).
//
// A message's depth is one more than that of the latest message, returned slot or flushed put that
// its sender has seen; and than that of the message before on its stream, which it follows, or
// on its port if the rank has one port. So what is sent after depth d is resolved is deeper than d.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes/cost/flow.h"
#include "passes/cost/programs.h"
#include "passes/cost/streams.h"
#include "plan/walk.h"
#include "weft/price.h"

namespace weft::cost {

// How the buffers of a call are cut, the same on all ranks.
struct Cut {
  Partition input, output;
  std::size_t chunk = 1;  // elements
};

// What is the same for all ranks of a call.
struct Call {
  Cut cut;
  double element = 4;      // bytes
  double accumulator = 4;  // bytes, on wide channels
  double wire = 4;         // bytes, on narrow ones
  bool symmetric = false;
  bool in_place = true;  // a copy from input to output is none
  double buffers = 0;    // bytes of a rank's buffers together
};

// Used once. All arguments outlive it. Not thread safe.
class Machine {
 public:
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

 protected:
  // What happens is added to `timeline`, if there is one.
  Machine(const Programs& programs, const Call& call, const Topology& topology,
          Timeline* timeline = nullptr);
  virtual ~Machine() = default;

  // A message begins its way at flow.ready; `depth` is its entry's. Afterwards it is handed to
  // arrive(), with what is found. Messages through memory are here at once and not carried.
  virtual void carry(const Flow& flow, std::int32_t depth) = 0;
  void arrive(const Flow& flow);
  // Until every rank waits, or is through.
  void run_ready();
  // What is known when nothing is under way any more. Throws InvalidPlan if ranks wait for ever.
  const Price& finish();

  const Topology& topology_;
  Routes routes_;
  Price price_;

 private:
  struct Slot {
    int readers = 0;  // that have not returned it
    double back = 0;
    std::int32_t depth = 0;
  };
  struct Outbox {
    std::vector<Slot> slots;
    std::size_t next = 0;  // the slot to fill, or filled
    bool filled = false;
    double bytes = 0;
  };
  // What a rank waits for.
  enum class Held : std::uint8_t { kNothing, kMessage, kSlot, kPuts };
  struct Rank {
    Cursor cursor;
    double now = 0;
    double began = 0;            // since when the step at hand, or the one before, need not wait
    std::int32_t heard = 0;      // the greatest depth that it knows of
    std::int32_t last_sent = 0;  // depth of its last message
    Held held = Held::kNothing;
    std::int32_t awaited = kNone;  // stream
    int puts = 0;                  // whose sources may still be read
    double puts_done = 0;
    std::int32_t puts_depth = 0;
    bool through = false;
    std::vector<Outbox> out = {};  // by channel
  };

  // machine.cc: scheduling and messages.
  void go(int rank);
  void wake(int rank, Held held);
  void send(int rank, double bytes, std::int32_t slot, bool lazy, bool placed);
  void record(int rank, double start);
  void put_is_read(int rank, double when, std::int32_t depth);
  [[noreturn]] void stuck() const;

  // steps.cc: what each verb does. False: it cannot go yet.
  bool perform(int rank);
  bool copy(int rank);
  bool reduce(int rank);
  bool put(int rank);
  void signal(int rank);
  bool wait(int rank);
  void credit(int rank);
  bool drain(int rank);
  bool slot_free(int rank, int channel);
  bool take_slots(int rank);
  void fill_slots(int rank);
  bool is_placed(int rank, const Operand& source);
  double read(int rank, double rate);
  double payload(int channel, std::size_t count) const;

  Rank& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Outbox& outbox(int rank, int channel) {
    return state(rank).out[static_cast<std::size_t>(channel)];
  }
  int peer_of(int rank, const Index& index) {
    const Cursor& cursor = state(rank).cursor;
    return programs_.peer(rank, cursor.section(), cursor.at(), index.at(cursor.round()));
  }

  const Programs& programs_;
  const Call& call_;
  const Topology::Rates rates_;
  Streams streams_;
  std::vector<PreparedProgram> prepared_;  // by number: ranks that are alike share one
  std::vector<Rank> ranks_;
  std::vector<int> ready_;
  Timeline* timeline_;
  bool has_memory_ = false;
};

}  // namespace weft::cost

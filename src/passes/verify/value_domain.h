// Executes the programs of all ranks, step by step, on symbolic values.
//
// Messages are here at once. Orders that are accidents of the one schedule (execute/machine.h) are
// not used: accesses are compared by vector clocks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "execute/machine.h"
#include "passes/verify/memory.h"
#include "passes/verify/message.h"
#include "passes/verify/report.h"
#include "passes/verify/scenario.h"
#include "passes/verify/values.h"
#include "plan/walk.h"

namespace weft::verifier {

// The own slot of a channel, between its filling and its signal.
struct OwnSlot {
  bool filled = false;
  Event event = 0;
  std::size_t extent = 0;  // of the step that filled it
  Sum sum = 0;
  std::vector<Value> values;
};

struct Rank : execute::Rank {
  std::size_t run = 0;
  PreparedProgram program = {};
  Sum sum = 0;      // of the step under way: its extent for all counts
  Event event = 0;  // the step under way
  std::vector<OwnSlot> slots = {};
  std::vector<MessageId> puts = {};         // not flushed
  int held = 0;                             // messages that it has received and not credited
  std::vector<std::size_t> announced = {};  // by owner: run + 1 of its last payload-free message
  std::vector<std::size_t> heard = {};      // by owner: run + 1 of its last message of any kind
};

struct Types {
  using Entry = verifier::Entry;
  using Stream = execute::Stream;
  using Slot = execute::Slot;
  using Rank = verifier::Rank;
};

// Executes plans one after the other on one lane. Used once. Plans are well formed and of equal
// rank counts. Not thread safe.
class ValueDomain : private execute::Machine<ValueDomain, Types> {
 public:
  ValueDomain(std::vector<BoundPlan> bound, Trees& trees, Findings& findings);

  // Runs all ranks to the end of the sequence. False if they got stuck, or once a finding
  // makes what would follow meaningless.
  bool execute();

  const Memory& memory(std::size_t run) const { return memories_[run]; }
  // Where a step was, for findings of others.
  const RankPosition& position(Event event) const { return log_[event]; }
  // Some reduction took a partial sum that had been stored in the element type.
  bool rounds_partials() const { return rounds_partials_; }

 private:
  friend execute::Machine<ValueDomain, Types>;

  // value_domain.cc: scheduling.
  void enter(int rank);
  bool leave(int rank);
  void step(int rank);
  void check_left_over(int rank);
  void check_barrier(int rank);
  void check_buffers_are_free(int rank);
  void report_stuck();
  void report_unreceived();
  void report_message(int rank, std::int32_t entry, const std::string& what);

  // steps.cc: what each verb does, once it can go.
  bool narrow(int rank);
  void copy(int rank);
  void reduce(int rank);
  void put(int rank);
  bool deliver(int rank, const Step& step, Message& message);
  void signal(int rank);
  void wait(int rank, std::int32_t entry);
  bool credit(int rank, std::int32_t entry);
  void nothing_to_credit(int rank);
  void flush(int rank);
  bool same_size(int rank, std::size_t extent, Sum sum, const std::string& other, Event event);
  bool same_size(int rank, const Message& message);
  Message message_of(int rank) const;
  void send(int rank, Message message);
  void accept_put(int rank, MessageId id, std::size_t target);

  // access.cc: operands.
  bool locate(int rank, const Operand& operand, std::size_t& first);
  bool place_of(int rank, const Operand& operand, std::size_t& first);
  bool load(int rank, const Operand& operand, std::vector<Value>& values);
  bool load_cells(int rank, std::size_t first, std::vector<Value>& values);
  bool load_slot(int rank, const Operand& operand, std::vector<Value>& values);
  void store(int rank, const Operand& operand, const std::vector<Value>& values);
  void store_cells(int rank, std::size_t first, const std::vector<Value>& values);
  void fill(int rank, int channel, const std::vector<Value>& values);
  void report_race(int rank, const std::string& does, const Conflict& conflict);
  bool same_cells(int rank, const Operand& a, const Operand& b);
  std::size_t first_cell(int rank, const Operand& operand);
  bool release_puts(int rank, Cell& cell);
  bool may_be_read(int rank, const Message& message, int& reader) const;

  const Plan& plan(int rank) const { return *bound_[state(rank).run].plan; }
  const Scenario& scenario(int rank) const { return *bound_[state(rank).run].scenario; }
  const Scenario& variables(int rank) const { return *bound_[state(rank).run].variables; }
  Memory& memory_of(int rank) { return memories_[state(rank).run]; }
  Access now(int rank) const { return clocks_.now(rank, state(rank).event); }
  int peer_of(int rank, const Index& index) const { return index.at(state(rank).cursor.round()); }
  RankPosition position_of(int rank) const;
  void log(int rank, RankPosition position);
  void fault(Fault fault, int rank, const std::string& text);
  std::string where(Event event) const;
  std::string stands_at(int rank);
  int waits_for(int rank);
  Message& message(std::int32_t entry) { return messages_[streams_.entry(entry).message]; }

  std::vector<BoundPlan> bound_;
  Trees& trees_;
  Findings& findings_;
  std::vector<Memory> memories_;  // by run
  Clocks clocks_;
  std::vector<Message> messages_;
  std::vector<std::vector<Access>> starts_;  // by run and rank
  std::vector<RankPosition> log_;
  bool rounds_partials_ = false;
  std::vector<Value> values_, terms_;  // of the step under way
};

}  // namespace weft::verifier

// Executes the programs of all ranks, step by step, on symbolic values.
//
// One schedule stands for all. No step chooses: control flow depends on no data, a wait
// names its stream and takes the next message of it, and a step that can go can still go
// after any step of another rank (only the rank itself takes its messages, slots and
// mailboxes). So the steps that run, what each message carries and what happens before
// what are the same in every schedule, and a schedule gets stuck only where all do.
// Orders that are accidents of this schedule are not used: accesses are compared by
// vector clocks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "passes/verify/memory.h"
#include "passes/verify/report.h"
#include "passes/verify/scenario.h"
#include "passes/verify/traffic.h"
#include "passes/verify/values.h"
#include "plan/walk.h"

namespace weft::verifier {

// Executes plans one after the other on one lane. Used once. Plans are well formed and of equal
// rank counts. Not thread safe.
class Machine {
 public:
  Machine(std::vector<Run> runs, Trees& trees, Findings& findings);

  // Runs all ranks to the end of the sequence. False if they got stuck, or once a finding
  // makes what would follow meaningless.
  bool execute();

  const Memory& memory(std::size_t run) const { return memories_[run]; }
  // Where a step was, for findings of others.
  const Place& place(Event event) const { return log_[event]; }
  // Some reduction took a partial sum that had been stored in the element type.
  bool rounds_partials() const { return rounds_partials_; }

 private:
  // The own slot of a channel, between its filling and its signal.
  struct OwnSlot {
    bool filled = false;
    Event event = 0;
    std::size_t extent = 0;  // of the step that filled it
    Sum sum = 0;
    std::vector<Value> values;
  };
  struct Rank {
    std::size_t run = 0;
    bool started = false;
    PreparedProgram program;
    Cursor cursor;
    Sum sum = 0;      // of the step under way: its extent for all counts
    Event event = 0;  // the step under way
    Hold hold;
    std::vector<OwnSlot> slots;
    std::vector<std::size_t> announced;  // by owner: run + 1 of its last payload-free message
    std::vector<std::size_t> heard;      // by owner: run + 1 of its last message of any kind
  };

  // machine.cc: scheduling.
  bool advance(int rank);
  void start(int rank);
  bool finish(int rank);
  Hold hold_of(int rank);
  void perform(int rank);
  void check_left_over(int rank);
  void check_barrier(int rank);
  void give_back(int rank);
  void report_stuck();
  void report_unreceived();

  // steps.cc: what each verb does, once it can go.
  bool narrow(int rank);
  void copy(int rank);
  void reduce(int rank);
  void put(int rank);
  bool deliver(int rank, const Step& step, Message& message);
  void signal(int rank);
  void wait(int rank);
  void credit(int rank);
  bool same_size(int rank, std::size_t extent, Sum sum, const std::string& other, Event event);
  bool same_size(int rank, const Message& message);
  Message message_of(int rank) const;
  void send(int rank, Message message);
  void land(int rank, MessageId id, std::size_t target);

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

  Rank& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& state(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  const Plan& plan(int rank) const { return *runs_[state(rank).run].plan; }
  const Scenario& scenario(int rank) const { return *runs_[state(rank).run].scenario; }
  const Scenario& variables(int rank) const { return *runs_[state(rank).run].variables; }
  Memory& memory_of(int rank) { return memories_[state(rank).run]; }
  Access now(int rank) const { return clocks_.now(rank, state(rank).event); }
  int peer_of(int rank, const Index& index) const { return index.at(state(rank).cursor.round()); }
  Place place_at(int rank) const;
  void log(int rank, Place place);
  void fault(Fault fault, int rank, const std::string& text);
  std::string where(Event event) const;
  std::string stands_at(int rank) const;

  std::vector<Run> runs_;
  Trees& trees_;
  Findings& findings_;
  std::vector<Memory> memories_;  // by run
  Clocks clocks_;
  Traffic traffic_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<Access>> starts_;  // by run and rank
  std::vector<Place> log_;
  bool rounds_partials_ = false;
  bool stopped_ = false;
  std::vector<Value> values_, terms_;  // of the step under way
};

}  // namespace weft::verifier

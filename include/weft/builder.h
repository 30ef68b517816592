// How an algorithm writes one rank's program.
//
// An algorithm is a pure function of (rank, ranks, parameters). It is called once
// a rank; the calls to channel() and blocks() must be the same on all ranks.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/plan.h"

namespace weft {

// The ranks that a phase of a plan runs on, and this rank's place among them.
// Composition: build a phase for a group of the ranks (a node, the leaders) by
// passing that group to the function that writes the phase.
class Group {
 public:
  // All ranks 0 .. ranks-1.
  Group(int rank, int ranks);
  // `members` in order; `rank` is one of them.
  Group(int rank, std::vector<int> members);

  int size() const { return static_cast<int>(members_.size()); }
  int me() const { return me_; }                             // own place in the group
  int at(int place) const { return members_[wrap(place)]; }  // the rank at a place, modulo size

  // `place` modulo the size, never negative.
  int wrap(int place) const { return ((place % size()) + size()) % size(); }

 private:
  std::vector<int> members_;
  int me_;
};

// Writes one rank's program. Not thread safe. Every method throws InvalidPlan on misuse.
//
//   b.blocks(ranks, ranks);
//   int ch = b.channel(4);
//   b.chunks([&] {                       // one section
//     b.put(b.input(left), {left}, ch);
//     b.wait(right, ch, b.input(rank));
//     b.reduce({b.output(rank)}, {b.input(rank), b.slot(right, ch)}, Builder::kLast);
//     b.credit(right, ch, b.input(rank));
//   });
class Builder {
 public:
  enum Partial { kPartial, kLast };
  enum Order { kFromLeft, kTree };  // see Step::tree

  Builder(int rank, PlanShape shape);

  int rank() const { return rank_; }
  int ranks() const { return shape_.ranks; }
  // A parameter of the plan; `fallback` is recorded if the caller gave none. Throws
  // InvalidArgument if the given value is of another kind.
  const Param& param(const std::string& name, const Param& fallback);
  // Parameters that were given and never asked for: misspelt ones.
  std::vector<std::string> unasked() const;

  // Declares how input and output are cut. Only for allreduce, broadcast and reduce, where the
  // algorithm is free to choose. Other collectives fix it.
  void blocks(int input, int output);
  // Declares that the plan supports equal counts only (PlanShape::equal_counts).
  void equal_counts() { shape_.equal_counts = true; }
  // Declares that an alltoall's output may be its input (PlanShape::in_place), which the verifier
  // then proves. Without, a call in place runs on a copy of its input.
  void in_place();
  // Declares a channel and returns its number.
  int channel(int slots, Width width = Width::kPlain);

  // Operands. A block range starts at `block`.
  Operand input(int block = 0, int blocks = 1) const;
  Operand output(int block = 0, int blocks = 1) const;
  Operand input_of(int rank, int block = 0, int blocks = 1) const;
  Operand output_of(int rank, int block = 0, int blocks = 1) const;
  Operand slot(int channel) const;            // own, to be filled and sent
  Operand slot(int peer, int channel) const;  // received

  // Sections. Steps added inside `write` run chunk by chunk, or once.
  void chunks(const std::function<void()>& write);
  void once(const std::function<void()>& write);
  // The same in two calls, for callers that cannot pass a function. begin() opens a section, end()
  // keeps it, abandon() drops it.
  void begin(bool chunked);
  void end();
  void abandon();
  // The next steps of this section work `trips` chunks behind.
  void lag(int trips);

  // Steps. `of` is an input or output operand whose chunks the step goes with.
  void copy(std::vector<Operand> dst, Operand src);
  // From slot to slot.
  void copy(std::vector<Operand> dst, Operand src, Operand of);
  void reduce(std::vector<Operand> dst, std::vector<Operand> src, Partial partial,
              Order order = kFromLeft);
  void put(Operand src, std::vector<int> to, int channel);
  // dst[i] in the output of to[i].
  void put(std::vector<Operand> dst, Operand src, std::vector<int> to, int channel);
  void signal(std::vector<int> to, int channel, Operand of);
  void wait(int from, int channel, Operand of);
  void credit(int from, int channel, Operand of);
  void flush();
  // The fabric's own function: the only step of its plan, in once(), without channels.
  void native();
  // Steps outside of any message range, in once(): barrier and ready signals.
  void signal(std::vector<int> to, int channel);
  void wait(int from, int channel);
  void credit(int from, int channel);

  // The result. Consecutive sections that differ only in an index that advances steadily are folded
  // into rounds of one section.
  Program finish();
  const PlanShape& shape() const { return shape_; }

 private:
  void section(bool chunked, const std::function<void()>& write);
  void add(Step step);

  int rank_;
  PlanShape shape_;
  std::set<std::string> asked_;
  Program program_;
  bool open_ = false;
  int lag_ = 0;
};

}  // namespace weft

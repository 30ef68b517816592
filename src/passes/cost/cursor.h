// A program counter in elements: the steps of a rank, chunk by chunk, in the order in which it
// runs them. Counts are the same on all ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/partition.h"
#include "weft/plan.h"

namespace weft::cost {

// How one call is cut, in elements.
struct Cut {
  Partition input, output;
  std::size_t chunk = 1;

  std::size_t size(const Range& range, int round) const {
    if (range.blocks == 0) return 0;
    const Partition& part = range.buffer == Buffer::kInput ? input : output;
    return part.size(range.block.at(round), range.blocks);
  }
};

// A program with the number of trips of each of its rounds. Program and cut outlive it.
class Code {
 public:
  Code(const Program& program, const Cut& cut);

  const Program& program() const { return *program_; }
  std::size_t trips(std::size_t section, int round) const {
    return trips_[section][static_cast<std::size_t>(round)];
  }

 private:
  const Program* program_;
  std::vector<std::vector<std::size_t>> trips_;  // by section and round
};

class Cursor {
 public:
  Cursor(const Code& code, const Cut& cut);  // both outlive it; stands on the first step

  const Step* step() const { return step_; }  // null at the end
  std::size_t section() const { return section_; }
  std::size_t at() const { return at_; }  // of the section's steps
  int round() const { return round_; }
  int chunk() const { return static_cast<int>(trip_ - step_->lag); }
  std::size_t count() const { return count_; }  // elements of the step's chunk
  void advance() {
    ++at_;
    settle();
  }

 private:
  void settle();

  const Code* code_;
  const Cut* cut_;
  std::size_t section_ = 0, trip_ = 0, at_ = 0;
  int round_ = 0;
  const Step* step_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace weft::cost

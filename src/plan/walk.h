// The order in which a rank runs the steps of its program: sections, rounds, trips and lags. The
// engine, the verifier and the cost model all walk by this, so that what is proved and priced is
// what runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/partition.h"
#include "weft/plan.h"

namespace weft {

// Elements of a range in `round`; 0 for a range of no blocks.
inline std::size_t size_of(const Range& range, int round, const Partition& input,
                           const Partition& output) {
  if (range.blocks == 0) return 0;
  const Partition& part = range.buffer == Buffer::kInput ? input : output;
  return part.size(range.block.at(round), range.blocks);
}

// The slot of a rank's message number `number` on a channel. Each message takes the next one, with
// a payload or without.
inline std::size_t slot_of(std::uint64_t number, const Channel& channel) {
  return static_cast<std::size_t>(number % static_cast<std::uint64_t>(channel.slots));
}

// A step in one round of one call.
struct PreparedStep {
  const Step* step = nullptr;
  std::size_t elements = 0;  // of its extent
  std::size_t chunks = 0;
  std::size_t lag = 0;  // the step's
};

// One round of a section for one call: all that no chunk changes. Who walks it may keep more of
// each step, in an `S` that derives from PreparedStep.
template <typename S>
struct RoundOf {
  // Keeps the memory of what it held before.
  void prepare(const Section& section, int round, const Partition& input, const Partition& output,
               std::size_t chunk) {
    steps.resize(section.steps.size());
    trips = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = section.steps[i];
      const std::size_t elements = size_of(step.extent, round, input, output);
      const std::size_t chunks = section.chunked ? chunks_of(elements, chunk) : 1;
      static_cast<PreparedStep&>(steps[i]) = {&step, elements, chunks, step.lag};
      trips = std::max(trips, chunks + step.lag);
    }
  }

  std::vector<S> steps;
  std::size_t trips = 0;
};
using PreparedRound = RoundOf<PreparedStep>;

// Where a rank stands in its program.
struct Position {
  std::size_t section = 0;
  int round = 0;
  std::size_t trip = 0, step = 0;
  std::size_t chunk = 0;  // that the step at hand works on
  bool operator==(const Position&) const = default;

  // Goes on to the next step of `now`, its round, that runs before trip `end`, from where it
  // stands. False: it stands at the beginning of that trip. With `end` = now.trips the round is
  // then over.
  template <typename S>
  bool settle(const RoundOf<S>& now, std::size_t end) {
    for (; trip < end; ++trip, step = 0)
      for (; step < now.steps.size(); ++step) {
        const S& at = now.steps[step];
        chunk = trip - at.lag;  // before the step's first trip it wraps to something huge
        if (chunk < at.chunks) return true;
      }
    return false;
  }
  // To the beginning of the next round. False: the program is over.
  bool next_round(const Program& program) {
    trip = step = 0;
    if (++round < program[section].rounds) return true;
    round = 0;
    return ++section < program.size();
  }
};

// A whole program for one call, which ranks that are alike may share. The program outlives it. A
// section of no rounds, which the verifier refuses, has one.
class PreparedProgram {
 public:
  PreparedProgram() = default;
  PreparedProgram(const Program& program, const Partition& input, const Partition& output,
                  std::size_t chunk);

  const Program& program() const { return *program_; }
  std::size_t chunk() const { return chunk_; }
  const PreparedRound& round(std::size_t section, int round) const {
    return rounds_[numbers_[firsts_[section] + static_cast<std::size_t>(round)]];
  }

 private:
  const Program* program_ = nullptr;
  std::size_t chunk_ = 1;
  std::vector<PreparedRound> rounds_;   // neighbours of equal sizes are one
  std::vector<std::uint32_t> numbers_;  // of each round, section after section
  std::vector<std::size_t> firsts_;     // by section: where its rounds begin in numbers_
};

// The steps of one rank, one after the other, as a run in which nothing ever waits has them.
class Cursor {
 public:
  Cursor() = default;
  // Stands on the first step. The program outlives it.
  explicit Cursor(const PreparedProgram& program);

  const Step* step() const { return now_ ? now_->step : nullptr; }  // null at the end
  std::size_t section() const { return at_.section; }
  int round() const { return at_.round; }
  std::size_t trip() const { return at_.trip; }
  std::size_t at() const { return at_.step; }  // of the section's steps
  std::size_t chunk() const { return at_.chunk; }
  std::size_t chunks() const { return now_->chunks; }
  // The elements of the step's extent, and the part of them that is the chunk at hand; the whole
  // where the section is not chunked.
  std::size_t extent() const { return now_->elements; }
  Span span() const {
    if (now_->chunks == 1) return {0, now_->elements};
    return chunk_of(now_->elements, program_->chunk(), chunk());
  }
  void advance() {
    ++at_.step;
    settle();
  }

 private:
  void settle();

  const PreparedProgram* program_ = nullptr;
  const PreparedRound* round_ = nullptr;
  const PreparedStep* now_ = nullptr;
  Position at_;
};

}  // namespace weft

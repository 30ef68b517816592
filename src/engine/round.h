// Rounds of sections, resolved against bindings: all that no chunk changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/binding.h"
#include "plan/walk.h"

namespace weft {

// An operand of a step.
struct Place {
  Buffer buffer = Buffer::kInput;
  std::uint8_t channel = 0;     // of a slot; the plan's
  Width width = Width::kPlain;  // of a slot
  bool wide = false;            // as kernels::Source has it
  int owner = 0;                // a rank of the plan; of a slot as the endpoint numbers it
  std::size_t bytes = 0;        // before it in its buffer
  std::size_t elements = 0;     // the same
};

// What running a step needs, in a cache line: a call that comes after other work finds little of a
// plan in the caches.
struct alignas(64) ResolvedStep : PreparedStep {
  const Place* into = nullptr;   // its destinations, then its sources
  const int* peers = nullptr;    // as the endpoint numbers them
  int targets = 0, sources = 0;  // how many there are
  int readers = 0;               // how many peers
  std::uint8_t channel = 0;      // the endpoint's
  Verb verb = Verb::kCopy;
  bool converts : 1 = false;  // a copy between slots and buffers of different types
  bool left : 1 = false;      // a sum that the put after it sends while it is added up
  // A put that also stands for the copy before it, into the slot that it signals: its source is
  // free once it is sent.
  bool passing : 1 = false;

  const Place* from() const { return into + targets; }
};
static_assert(sizeof(ResolvedStep) == 64);

struct Round : RoundOf<ResolvedStep> {
  Round() = default;
  Round(const Round&) = delete;  // steps point into it

  // Of the program of `rank`. Keeps the memory of what it held before.
  void resolve(const Binding& binding, int rank, std::size_t section, int number);

  std::vector<Place> places;
  std::vector<int> peers;

 private:
  void join(const Binding& binding, int rank);
};

// Whether a copy into the slot of one reader, whom the next step signals, is a put together with
// it, if that slot holds the caller's elements. Other than a put, the two free the source.
bool is_put(const Step& copy, const Step& signal);

// The rounds that the runs of one rank stood in last. Calls that a loop repeats differ in their
// buffers alone, and find theirs again, those of short plans at least: small ones then only move
// bytes.
class Rounds {
 public:
  // Holds until the next call of this. `rank`: the same for equal revisions.
  const Round& get(const Binding& binding, int rank, std::size_t section, int round) {
    if (binding.revision != 0 && kept_) [[likely]] {
      const Kept& kept = at(binding, section, round);
      if (kept.revision == binding.revision && kept.section == section && kept.number == round)
        return kept.round;
    }
    return resolved(binding, rank, section, round);
  }

 private:
  struct Kept {
    std::uint64_t revision = 0;
    std::size_t section = 0;
    int number = 0;
    Round round;
  };
  // A section's rounds follow each other, those of the next binding begin further on. Longer
  // plans, and bindings made much later, take each other's places.
  static constexpr std::size_t kMost = 32, kApart = 4;

  Kept& at(const Binding& binding, std::size_t section, int round) {
    return kept_[(binding.revision * kApart + section + static_cast<std::size_t>(round)) % kMost];
  }
  const Round& resolved(const Binding& binding, int rank, std::size_t section, int round);

  Round passing_;                 // of a binding that is not remembered
  std::unique_ptr<Kept[]> kept_;  // none, or kMost
};

}  // namespace weft

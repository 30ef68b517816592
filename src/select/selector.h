// Chooses the algorithm for a call. Everything it looks at is equal on all ranks: the call's
// arguments, the number of ranks and the settings merged when the communicator was made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/registry.h"
#include "select/settings.h"
#include "weft/call.h"
#include "weft/select.h"

namespace weft {

// An algorithm laid out for the ranks of a selector. Its parameters are all that differ from the
// defaults, but for the root. Rows keep the algorithm that is registered when the selector is made;
// names that calls give mean the one that is registered now.
using Handle = std::shared_ptr<const Resolved>;

// What serves a call.
struct Chosen {
  Handle use;
  Rule rule = Rule::kBuiltIn;
  int row = 0;  // as Selection

  Selection selection() const { return {use->choice(), rule, row}; }
};

// Does not change after it was made, except for its memory of choices: thread safe.
class Selector {
 public:
  // Throws InvalidArgument for a WEFT_ALGORITHM that speaks of no collective or algorithm, and for
  // a wire that is not reproducible.
  Selector(int ranks, const Settings& settings);

  // An alltoall of two ranks that send each other as much is to have that as its count, and no
  // counts: a rank does not know how long the block is that the other keeps. Throws InvalidArgument
  // for an unknown algorithm that was named, Unsupported for one that refuses the ranks or that is
  // not reproducible where that is asked for.
  Chosen choose(const Call& call) const;

 private:
  // What one row or text names.
  struct Use {
    Handle handle;    // null: as the built-in table says
    Handle narrowed;  // the same with `wire`; null: its sums cannot cross in that type
  };
  // A row that fits these ranks.
  struct Candidate {
    Row row;
    int number;  // among the tuned rows, from 1; 0: built in
    Use use;
  };

  void read_overrides(const std::string& setting);
  // Keeps `row` if it fits these ranks.
  void offer(const Row& row, int number);
  // Those of a choice, and where the ranks lie, as far as the algorithm asks for it and they leave
  // it open (weft/fit.h).
  Params fitted(const Resolved& resolved) const;
  Use laid_out(Resolved resolved) const;
  // Whether the call's sums are to cross in the type on the wire: float32's, always. Those of bf16
  // where the algorithm has a choice; others send bf16 or sums that are rounded once, as they do.
  enum class Crossing : std::uint8_t { kAsItIs, kNarrow, kNarrowIfItCan };
  Crossing crossing_of(const Call& call) const;
  // Of a use that was named, with `wire` where it is to be.
  Handle for_wire(const Call& call, const Use& use) const;
  Chosen named(const Call& call, std::string_view text, Rule rule) const;
  // To parse a text, and lay an algorithm out, takes several microseconds: done once.
  Use named_before(std::string_view text, Collective collective) const;
  Use read_name(const std::string& text, Collective collective) const;
  std::string& override_of(Collective collective);

  int ranks_, nodes_;
  std::vector<int> place_;
  std::size_t chunk_;
  std::size_t longest_;  // chunk of a row
  bool crowded_, reproducible_, wire_;
  std::array<std::string, kCollectives> overrides_;
  std::array<std::vector<Candidate>, kCollectives> candidates_;

  static constexpr std::size_t kMostNamed = 256;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Collective, std::string>, Use> named_;
  mutable std::uint64_t generation_ = 0;  // of the registry, when they were resolved
};

}  // namespace weft

// Which algorithm serves a call. Everything it looks at is equal on all ranks: the call's
// arguments, the number of ranks and the settings merged when the communicator was made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "select/settings.h"
#include "weft/call.h"
#include "weft/select.h"

namespace weft {

// Not changed after it was made, but for what it remembers: thread safe.
class Selector {
 public:
  // Throws InvalidArgument for a WEFT_ALGORITHM that speaks of no collective or algorithm, and for
  // a wire that is not reproducible.
  Selector(int ranks, const Settings& settings);

  // Throws InvalidArgument for an unknown algorithm that was named, Unsupported for one that
  // refuses the ranks or that is not reproducible where that is asked for.
  Selection choose(const Call& call) const;

 private:
  // A row that serves these ranks.
  struct Candidate {
    Row row;     // its algorithm by its full name
    int number;  // among the tuned rows, from 1; 0: built in
    bool reproducible;
    bool narrows;  // its sums can cross in the type on the wire
  };

  void read_overrides(const std::string& setting);
  // Keeps `row` if it serves these ranks.
  void offer(const Row& row, int number);
  // Those of a choice, and where the ranks lie, as far as the algorithm asks for it and they leave
  // it open (weft/fit.h).
  Params fitted(const Algorithm& algorithm) const;
  // Whether the call's sums are to cross in the type on the wire.
  bool to_narrow(const Call& call) const;
  // Has the algorithm a parameter for that?
  bool narrows(const Algorithm& algorithm, const Params& params) const;
  // Params of a named algorithm, with `wire` where it is to be.
  void set_wire(const Call& call, const Algorithm& algorithm, Params& params) const;
  Selection named(const Call& call, std::string_view text, Rule rule) const;

  struct Named {
    Algorithm algorithm;
    Params params;
  };
  // To parse a text, and lay an algorithm out, takes several microseconds: done once.
  Named named_before(std::string_view text, Collective collective) const;
  Named resolve(const std::string& text, Collective collective) const;
  std::string& override_of(Collective collective);

  int ranks_, nodes_;
  std::vector<int> place_;
  std::size_t chunk_;
  bool crowded_, reproducible_, wire_;
  std::array<std::string, kCollectives> overrides_;
  std::array<std::vector<Candidate>, kCollectives> candidates_;

  static constexpr std::size_t kMostNamed = 256;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Collective, std::string>, Named> named_;
  mutable std::uint64_t generation_ = 0;  // of the registry, when they were resolved
};

}  // namespace weft

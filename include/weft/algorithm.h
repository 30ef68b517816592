// What an algorithm is: a function that writes programs, and what is promised of their results.
// weft/builder.h is what the function writes with, weft/registry.h finds algorithms by name.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/plan.h"

namespace weft {

class Builder;

// An algorithm's promises about its results' bits. A false promise is a fault.
struct Claims {
  bool consistent = false;  // all ranks get identical bits (allreduce; elsewhere it is plain)
  // Sums follow one tree over the ranks in order (Step::tree) and are rounded once. They have the
  // same bits as every other reproducible plan of as many ranks, with any algorithm, chunks and
  // root.
  bool reproducible = false;
  auto operator<=>(const Claims&) const = default;
};

// Another name for an algorithm, as papers have it ("lr"), perhaps with certain parameters.
struct Alias {
  Alias(const char* name, Params params = {}) : name(name), params(std::move(params)) {}  // NOLINT
  std::string name;
  Params params;
};

// One algorithm. `write` is called once for each rank.
struct Algorithm {
  std::string name;  // "allreduce/ring"
  Collective collective = Collective::kBarrier;
  std::string summary;  // one line: when it is good, its steps and bytes, its source
  std::function<void(Builder&)> write;
  // Refuses rank counts or parameters that it does not support; empty: serves all. Returns the
  // reason.
  std::function<std::string(int ranks, const Params&)> refuses = {};
  Claims claims = {};
  std::vector<Alias> aliases = {};
  // What the text that it was found by says, and the alias in it; taken where the caller gives
  // none.
  Params preset = {};
  std::size_t chunk = 0;  // likewise
};

// Why `algorithm` refuses this number of ranks with these parameters; empty: it can.
std::string refusal(const Algorithm& algorithm, int ranks, const Params& params);

// One rank's program. Throws InvalidArgument if the algorithm refuses, or does not know a
// parameter.
RankPlan make_rank_plan(const Algorithm& algorithm, int rank, int ranks, Params params);
// All ranks' programs. Throws also InvalidPlan, if ranks declare different shapes.
Plan make_plan(const Algorithm& algorithm, int ranks, const Params& params);

}  // namespace weft

// The table of verbs: a row for each, for the text form and for checks.
//
// To add a verb, write
//   1. its number in `Verb` (weft/plan.h), its row here, its method in weft/builder.h; the rules of
//      its operands, if it has any, in check.cc;
//   2. when it can go, in src/execute/machine.h;
//   3. what it does: in the engine, the verifier and the cost model, each in its steps.cc;
//   4. its colour in python/weft/draw.
// One that is opaque needs no more than 1, its line in the machine and what it does in the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/plan.h"

namespace weft {

// Whom a step names as peers.
enum class Peers : std::uint8_t { kNone, kSource, kDestinations };

struct VerbTraits {
  std::string_view name;
  Peers peers = Peers::kNone;
  bool moves = false;   // has operands
  bool opaque = false;  // nobody knows what it does: alone in its plan, not proved, not priced

  constexpr bool sends() const { return peers == Peers::kDestinations; }
};

inline constexpr std::array<VerbTraits, kVerbs> kVerbTraits = {{
    {.name = "copy", .moves = true},
    {.name = "reduce", .moves = true},
    {.name = "put", .peers = Peers::kDestinations, .moves = true},
    {.name = "signal", .peers = Peers::kDestinations},
    {.name = "wait", .peers = Peers::kSource},
    {.name = "credit", .peers = Peers::kSource},
    {.name = "flush"},
    {.name = "native", .opaque = true},
}};

// Throws InternalError if there is no such verb.
const VerbTraits& traits_of(Verb verb);

// Whether one of the steps is opaque.
bool is_opaque(const Program& program);

// Whether a step of `rank` reads in another rank's input or output.
bool reads_in_peers(const RankPlan& plan, int rank);

}  // namespace weft

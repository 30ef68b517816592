// The loops of collectives without plans: pieces that go from a rank's own memory through slots
// into another's.
#pragma once

#include <cstddef>

#include "measure/probe.h"

namespace weft::measuring {

// Slots of a rank, as a collective's channel has.
inline constexpr std::size_t kSlots = 4;
inline constexpr std::size_t kPiece = std::size_t{64} << 10;  // bytes of each

// Seconds a byte, medians.
struct LoopTimes {
  double copy = 0;    // from the own buffer into the own slot
  double fetch = 0;   // from the peer's slot into the own buffer
  double reduce = 0;  // a source's byte, where all lie in own buffers
  double store = 0;   // of the result, from own buffers into the own slot
};

// Each rank sends to `next` and takes from `prev`; `bytes` of buffers are used over and over.
// The probe has kSlots * kPiece bytes. All ranks on the ring do the same, at the same time.
LoopTimes measure_loop(Probe& probe, int next, int prev, std::size_t bytes, int times);

}  // namespace weft::measuring

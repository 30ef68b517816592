// How far one step of the engine carries what it drives.
#pragma once

namespace weft {

enum class Pace {
  kFree,     // as far as nothing blocks
  kOneTrip,  // at most to the end of a trip: one chunk of each of its steps
};

}  // namespace weft

// hwloc, found when it is first needed: the package works without it.
#pragma once

#include "base/layout.h"

namespace weft {

// What read_layout() gives where hwloc's headers were there when Weft was built.
Layout read_hwloc();

}  // namespace weft

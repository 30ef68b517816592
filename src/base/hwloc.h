// hwloc, found when it is first needed: the package works without it.
#pragma once

#include "base/layout.h"

namespace weft {

// read_layout(), if hwloc's headers were there when Weft was built.
Layout read_hwloc();

}  // namespace weft

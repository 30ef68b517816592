// What fabrics.cc knows of the fabrics beside what users see of them.
#pragma once

#include "weft/info.h"

namespace weft {

// How ofi would reach other machines now, or why it would not.
FabricInfo ofi_info();

}  // namespace weft

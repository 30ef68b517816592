// Ranks that are threads of one process, over plain queues: the smallest fabric that keeps the
// contract. docs/design/write-a-fabric.md says how it was made.
#pragma once

#include "fabric/fabric.h"

namespace weft {

std::shared_ptr<Fabric> make_inprocess_fabric();

}  // namespace weft

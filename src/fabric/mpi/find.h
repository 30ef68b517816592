// Finds the MPI library that this process is to use.
#pragma once

#include "fabric/mpi/abi.h"

namespace weft::mpi {

// The library that is already in the process, whoever loaded it; else the launcher's, which is
// loaded now. Throws Unsupported with the remedy: none is there and nobody launched the process,
// none can be loaded, two are loaded.
File find_library();

}  // namespace weft::mpi

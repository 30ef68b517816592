// The parts of fabrics.cc that users do not see.
#pragma once

#include "weft/info.h"

namespace weft {

// How ofi would reach other machines now, or why it would not.
FabricInfo ofi_info();
// The MPI library that a communicator over mpi would use here, or why there is none. Loads it.
FabricInfo mpi_info();
// The same of OpenSHMEM.
FabricInfo shmem_info();

}  // namespace weft

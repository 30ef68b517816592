// Who started this process as a rank of an MPI job, and where that launcher's library lies.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::mpi {

struct Launcher {
  std::string name;     // "Open MPI's mpirun"
  int ranks = 0;        // that it has started; 0: it does not say
  bool openmpi = true;  // its libraries: of Open MPI, of MPICH and its kin, or (both) of either
  bool mpich = true;
};

// From the variables that only a launcher's processes have. Null: nobody says that he started this
// process. Nested in another's job, the innermost that MPI would believe.
std::optional<Launcher> find_launcher();

// Where the launcher's library may be, best first: files that exist, then names for the system's
// loader.
std::vector<std::string> library_candidates(const Launcher& launcher);

}  // namespace weft::mpi

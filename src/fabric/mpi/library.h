// The MPI of this process: found and loaded when it is first needed, and initialised if nobody has
// done so. The package works without any.
//
// Nobody initialises MPI twice, and nobody finalises it twice. If the program has initialised MPI,
// it also finalises it. Else Weft does both, and finalises when the process ends: after main() or
// after Python's own end, in exit(). All lanes over MPI have to be closed by then. A program that
// finalises what Weft initialised is in its right, and Weft then does not.
#pragma once

#include "fabric/mail/library_mutex.h"
#include "fabric/mpi/mpi.h"

namespace weft::mpi {

// Ready for use: initialised, by whomever, with at least MPI_THREAD_SERIALIZED. At the first call
// all ranks of the job have to call it; MPI may wait for them. Throws Unsupported with the remedy:
// no library, two of them, an unknown one, one of another launcher, one that is finalised, too low
// a thread level. Thread safe.
const Mpi& library();
// All ranks of the job have this communicator, which is never freed. What Weft has initialised, it
// finalises once all have come there, or ten seconds later. Until then what was sent goes on: a
// rank that stood still hears that the others have given up. Intel MPI's MPI_Finalize sends nothing
// more.
void finalise_together(Comm all);
// Held around all calls of the library that Weft makes.
using mail::library_mutex;

}  // namespace weft::mpi

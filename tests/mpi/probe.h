// One run through all that weft::mpi::Mpi offers, on the ranks of a job. A program calls it, and
// Python by ctypes.
#pragma once

extern "C" {

// Prints a line on each rank, "rank 1 of 2: ok ..." or the error's text. Returns 0 if all is well.
// `errors` 1: also provokes an error of a call; 2: errors of requests as well, for which MPICH and
// its kin ask the error handler of MPI_COMM_WORLD.
int weft_mpi_probe(int errors);

}  // extern "C"

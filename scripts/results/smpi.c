// Prints the seconds of one collective: smpi allreduce|bcast BYTES, under smpirun.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int count = atoi(argv[2]) / 4;
  // One memory for all ranks: what is in it does not matter here.
  float* in = SMPI_SHARED_MALLOC(count * sizeof(float));
  float* out = SMPI_SHARED_MALLOC(count * sizeof(float));
  // All ranks start at time 0, so no barrier is needed, which they would leave one by one.
  if (strcmp(argv[1], "allreduce") == 0)
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else
    MPI_Bcast(out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
  const double end = MPI_Wtime();
  double latest;
  MPI_Reduce(&end, &latest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("seconds %.9g\n", latest);
  SMPI_SHARED_FREE(in);
  SMPI_SHARED_FREE(out);
  MPI_Finalize();
  return 0;
}

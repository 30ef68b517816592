// library_test weft|program LEVEL|finalised|fork [noerrors]: the probe, in a program that leaves
// MPI to Weft, that uses it itself, that has finished with it, or whose forked child asks for it.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <string>

#include "fabric/mpi/find.h"
#include "fabric/mpi/mpi.h"
#include "probe.h"

namespace {

weft::mpi::Level level_of(const std::string& word) {
  for (const auto level :
       {weft::mpi::Level::kSingle, weft::mpi::Level::kFunneled, weft::mpi::Level::kSerialized}) {
    if (weft::mpi::name_of(level) == "MPI_THREAD_" + word) return level;
  }
  return weft::mpi::Level::kMultiple;
}

// A program of its own: it has found MPI by itself and finalises it.
int as_program(const std::string& how, const std::string& level, int errors) {
  const auto mpi = weft::mpi::make_mpi(weft::mpi::find_library());
  mpi->init_thread(level_of(level));
  if (how == "finalised") mpi->finalize();
  const int result = weft_mpi_probe(errors);
  if (how == "finalised") return result;
  if (mpi->finalized()) return 3;
  mpi->finalize();
  return result;
}

int with_child() {
  const int result = weft_mpi_probe(0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) return weft_mpi_probe(0) == 1 ? 0 : 4;  // exit() in a child that is no rank
  int status = 0;
  ::waitpid(child, &status, 0);
  return result != 0 ? result : status;
}

}  // namespace

int main(int count, char** words) {
  const std::string how = count > 1 ? words[1] : "weft", level = count > 2 ? words[2] : "";
  const int errors = count > 1 && std::string(words[count - 1]) == "noerrors" ? 0 : 1;
  if (how == "weft") return weft_mpi_probe(2 * errors);
  if (how == "fork") return with_child();
  return as_program(how, level, errors);
}

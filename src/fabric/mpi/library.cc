#include "fabric/mpi/library.h"

#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "fabric/mpi/find.h"
#include "fabric/mpi/launcher.h"
#include "weft/error.h"

namespace weft::mpi {
namespace {

// What Weft has initialised and has to finalise, and the process that did: a forked child has
// neither the right nor the threads.
const Mpi* ours = nullptr;
pid_t initialiser = 0;

std::optional<Comm> of_all;  // see finalise_together()

void wait_for_all(const Mpi& mpi) try {
  constexpr auto patience = std::chrono::seconds(10);
  const auto end = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(library_mutex());
  Request all_are_here = mpi.ibarrier(*of_all);
  while (!mpi.test(all_are_here) && std::chrono::steady_clock::now() < end) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock.lock();
  }
} catch (const Error&) {
  // Somebody has died. What that means for the others is for MPI_Finalize to say.
}

void finalise_ours() {
  if (!ours || ::getpid() != initialiser) return;
  try {
    if (ours->finalized()) return;
    if (of_all) wait_for_all(*ours);
    ours->finalize();
  } catch (const Error& error) {
    std::fprintf(stderr, "weft: %s\n", error.what());  // exit() has nobody to throw to
  }
}

std::string about(const Mpi& mpi) { return mpi.file().path + " (" + version_of(mpi.file()) + ")"; }

std::string of_another(const Mpi& mpi, const Launcher& launcher) {
  return about(mpi) + " is probably not the library of " + launcher.name +
         ", which started this process: start with that library's mpirun, or load the library of "
         "this launcher";
}

// MPICH ends the process where Open MPI's launcher has started it, so that Weft has to say so
// before. A library that was told to use PMIx knows better.
void check_launcher(const Mpi& mpi) {
  const std::optional<Launcher> launcher = find_launcher();
  const bool told = std::getenv("MPIR_CVAR_PMI_VERSION") || std::getenv("I_MPI_PMI_LIBRARY");
  if (launcher && !launcher->mpich && mpi.abi().kind == AbiKind::kMpich && !told) {
    throw Unsupported("mpi: " + of_another(mpi, *launcher));
  }
}

// A library that does not understand its launcher takes each process for a job of its own.
void check_size(const Mpi& mpi) {
  const std::optional<Launcher> launcher = find_launcher();
  const int size = mpi.size(mpi.world());
  if (!launcher || launcher->ranks == 0 || launcher->ranks == size) return;
  throw Unsupported("mpi: MPI's world has " + std::to_string(size) + " ranks, but " +
                    launcher->name + " started " + std::to_string(launcher->ranks) + ": " +
                    of_another(mpi, *launcher));
}

void initialise(const Mpi& mpi) {
  check_launcher(mpi);
  const Level given = mpi.init_thread(Level::kMultiple);
  ours = &mpi;
  initialiser = ::getpid();
  // After the library's own handlers were registered, so that it runs before them.
  std::atexit(finalise_ours);
  mpi.return_errors(mpi.world());
  mpi.return_errors(mpi.self());
  if (given < Level::kSerialized) {
    throw Unsupported("mpi: " + about(mpi) + " was built for " + name_of(given) +
                      " only, but Weft calls it from several threads: use one that was built "
                      "with thread support");
  }
}

void check_level(const Mpi& mpi) {
  const Level given = mpi.query_thread();
  if (given >= Level::kSerialized) return;
  throw Unsupported(std::string("mpi: MPI was initialised with ") + name_of(given) +
                    ", but Weft calls it from several threads: ask MPI_Init_thread for "
                    "MPI_THREAD_MULTIPLE, or MPI_THREAD_SERIALIZED if no other thread calls MPI "
                    "(in mpi4py: mpi4py.rc.thread_level = \"multiple\" before `import "
                    "mpi4py.MPI`)");
}

const Mpi& loaded() {
  // Never destroyed: the end of the process calls it.
  static const Mpi& mpi = *make_mpi(find_library()).release();
  return mpi;
}

void check_usable(const Mpi& mpi) {
  if (mpi.finalized()) {
    throw Unsupported("mpi: MPI is finalised already: make communicators before MPI_Finalize");
  }
  if (ours && ::getpid() != initialiser) {
    throw Unsupported(
        "mpi: this process was forked from one that uses MPI, whose connections it "
        "cannot share: start it with mpirun, or spawn it without the launcher's "
        "variables");
  }
}

const Mpi& start() {
  const Mpi& mpi = loaded();
  check_usable(mpi);
  if (!mpi.initialized()) initialise(mpi);
  check_level(mpi);
  check_size(mpi);
  return mpi;
}

}  // namespace

void finalise_together(Comm all) { of_all = all; }

const Mpi& library() {
  static const Mpi& started = start();
  check_usable(started);
  return started;
}

}  // namespace weft::mpi

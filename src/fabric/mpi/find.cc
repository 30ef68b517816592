#include "fabric/mpi/find.h"

#include <dlfcn.h>
#include <link.h>
#include <algorithm>
#include <vector>

#include "fabric/mpi/launcher.h"
#include "weft/error.h"

namespace weft::mpi {
namespace {

// The file that has the function under MPI's second name: tools that stand between a program and
// its MPI have the first only. SimGrid's MPI runs inside simulations alone.
std::string owner_of(void* handle) {
  void* const function = ::dlsym(handle, "PMPI_Init_thread");
  Dl_info info{};
  if (!function || ::dladdr(function, &info) == 0 || !info.dli_fname) return {};
  if (::dlsym(handle, "smpi_main")) return {};
  return info.dli_fname;
}

std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        static_cast<std::vector<std::string>*>(to)->push_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

// One handle for each MPI in the process. Its symbols need not be global: mpi4py loads it for
// itself. So each file is asked; dlsym() looks into what the file needs as well.
std::vector<File> loaded_libraries() {
  std::vector<File> found;
  for (const std::string& file : loaded_files()) {
    // The first is the program itself and has no name.
    void* const handle =
        ::dlopen(file.empty() ? nullptr : file.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle) continue;  // the kernel's
    const std::string owner = owner_of(handle);
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const File& one) { return one.path == owner; });
    if (owner.empty() || known) {
      ::dlclose(handle);
    } else {
      found.push_back({handle, owner});
    }
  }
  return found;
}

std::string remedy(const Launcher& launcher) {
  return "; install the MPI that " + launcher.name +
         " belongs to, or put its folder into "
         "LD_LIBRARY_PATH";
}

File load_of(const Launcher& launcher) {
  std::string why;
  for (const std::string& name : library_candidates(launcher)) {
    // Local: the library loads its plugins into its own scope, and programs find theirs.
    if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const std::string owner = owner_of(handle);
      return {handle, owner.empty() ? name : owner};
    }
    why += why.empty() ? "" : "; ";
    why += ::dlerror();
  }
  throw Unsupported("mpi: " + launcher.name +
                    " started this process, but no MPI library can be "
                    "loaded (" +
                    why + ")" + remedy(launcher));
}

}  // namespace

File find_library() {
  const std::vector<File> loaded = loaded_libraries();
  if (loaded.size() == 1) return loaded[0];
  if (loaded.size() > 1) {
    throw Unsupported("mpi: two MPI libraries are in this process, " + loaded[0].path + " and " +
                      loaded[1].path +
                      ": only one can work; load or link the one of the launcher "
                      "alone");
  }
  const std::optional<Launcher> launcher = find_launcher();
  if (!launcher) {
    throw Unsupported(
        "mpi: no MPI library is loaded, and no launcher of MPI has started this "
        "process: start the ranks with mpirun, as in `mpirun -n 4 python ...`");
  }
  return load_of(*launcher);
}

}  // namespace weft::mpi

#include "fabric/mpi/launcher.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/small_file.h"

namespace weft::mpi {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

int number(const char* name) { return std::atoi(variable(name).c_str()); }

bool is_launcher(const std::string& name) {
  constexpr std::array<std::string_view, 13> kNames = {
      "mpirun",       "mpiexec",       "mpiexec.hydra",  "mpirun.openmpi", "mpiexec.gforker",
      "orterun",      "orted",         "prterun",        "prted",          "prte",
      "mpirun.mpich", "mpiexec.mpich", "hydra_pmi_proxy"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// The parent of a process; 0: unknown.
int parent_of(int pid) {
  return std::atoi(value_of("/proc/" + std::to_string(pid) + "/status", "PPid").c_str());
}

// "/opt/mpich" of /opt/mpich/bin/hydra_pmi_proxy, which is an ancestor of this process on every
// host; shells and wrappers may lie between.
fs::path prefix_of_ancestor() {
  int pid = parent_of(static_cast<int>(::getpid()));
  for (int i = 0; i < 16 && pid > 1; ++i, pid = parent_of(pid)) {
    std::error_code failed;  // somebody else's process
    const fs::path file = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed);
    if (!failed && is_launcher(file.filename())) return file.parent_path().parent_path();
  }
  return {};
}

// Of the mpirun that a shell would find, links resolved.
fs::path prefix_on_path() {
  std::string rest = variable("PATH");
  for (std::size_t end = 0; end != std::string::npos && !rest.empty();) {
    end = rest.find(':');
    std::error_code failed;
    const fs::path file = fs::canonical(fs::path(rest.substr(0, end)) / "mpirun", failed);
    if (!failed) return file.parent_path().parent_path();
    if (end != std::string::npos) rest.erase(0, end + 1);
  }
  return {};
}

// The launcher itself, if it can be seen, is the best witness. The system's own prefix is left to
// the loader, which knows its folders better.
std::vector<fs::path> prefixes() {
  const fs::path ancestor = prefix_of_ancestor();
  std::vector<fs::path> all = {ancestor};
  if (ancestor.empty()) all = {variable("OPAL_PREFIX"), variable("I_MPI_ROOT"), prefix_on_path()};
  std::erase_if(all,
                [](const fs::path& one) { return one.empty() || one == "/usr" || one == "/"; });
  return all;
}

// With both, MPICH's own interface goes before the standard's: Intel MPI 2021.18 ends the process
// at each error of the standard's, whatever its error handler.
std::vector<std::string> library_names(const Launcher& launcher) {
  std::vector<std::string> names;
  if (launcher.openmpi) names.insert(names.end(), {"libmpi.so.40", "libmpi.so.20"});
  if (launcher.mpich) names.insert(names.end(), {"libmpi.so.12", "libmpich.so.12"});
  names.insert(names.end(), {"libmpi_abi.so.1", "libmpi_abi.so.0"});
  return names;
}

}  // namespace

std::optional<Launcher> find_launcher() {
  if (!variable("OMPI_COMM_WORLD_SIZE").empty()) {
    return Launcher{"Open MPI's mpirun", number("OMPI_COMM_WORLD_SIZE"), true, false};
  }
  if (!variable("MPI_LOCALNRANKS").empty() && !variable("PMI_SIZE").empty()) {
    const bool intel = !variable("I_MPI_HYDRA_UUID").empty();
    return Launcher{intel ? "Intel MPI's mpirun" : "MPICH's mpiexec", number("PMI_SIZE"), false,
                    true};
  }
  if (!variable("SLURM_STEP_ID").empty() && !variable("SLURM_STEP_NUM_TASKS").empty()) {
    return Launcher{"Slurm's srun", number("SLURM_STEP_NUM_TASKS")};
  }
  // Cray's, Flux's and others.
  if (!variable("PMI_SIZE").empty()) return Launcher{"a launcher with PMI", number("PMI_SIZE")};
  if (!variable("PMIX_RANK").empty()) return Launcher{"a launcher with PMIx", 0};
  return std::nullopt;
}

std::vector<std::string> library_candidates(const Launcher& launcher) {
  const std::vector<std::string> names = library_names(launcher);
  std::vector<std::string> candidates;
  for (const fs::path& prefix : prefixes()) {
    for (const char* folder : {"lib", "lib64", "lib/release"}) {
      for (const std::string& name : names) {
        const fs::path file = prefix / folder / name;
        std::error_code failed;
        if (fs::exists(file, failed)) candidates.push_back(file);
      }
    }
  }
  candidates.insert(candidates.end(), names.begin(), names.end());
  return candidates;
}

}  // namespace weft::mpi

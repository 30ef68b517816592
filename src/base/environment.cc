#include "base/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>

namespace weft {
namespace {

constexpr const char* kFirstRank = "rank 0's holds for all ranks";
constexpr const char* kAnyRank = "holds for all ranks if any rank sets it";
constexpr const char* kAlike = "the same on all ranks";
constexpr const char* kEachRank = "each rank's own";

constexpr Variable kVariables[] = {
    {"WEFT_ALGORITHM", &Environment::algorithm,
     "a name for every collective that has it, or `allreduce=ring,broadcast=chain`",
     "what was measured, else the built-in choice", "the algorithm, with parameters if need be",
     kFirstRank},
    {"WEFT_CHUNK", &Environment::chunk, "a number of bytes", "chosen by the size of a block",
     "the most bytes that a message is cut into", kFirstRank},
    {"WEFT_FABRIC", &Environment::fabric,
     "`shm`, `ofi`, `mpi`, `shmem`, or `shm+ofi`, `shm+mpi`, `shm+shmem`",
     "`shm` if it reaches all ranks, else `shm+ofi`",
     "how ranks reach each other: shared memory, libfabric, MPI, OpenSHMEM; of two the first "
     "within a "
     "node, the second across",
     kAlike},
    {"WEFT_INTERFACE", &Environment::interface, "names or addresses, with commas between them",
     "the interface towards `MASTER_ADDR`, else that of the default route, else the first",
     "the network interface; several are rails", kEachRank},
    {"WEFT_ISA", &Environment::isa, "`avx512`, `avx2` or `baseline`", "the best that runs here",
     "the instruction set of the copy and reduction loops", kEachRank},
    {"WEFT_LIBFABRIC", &Environment::libfabric, "a file", "`libfabric.so.1` as the system finds it",
     "libfabric itself", kEachRank},
    {"WEFT_MODEL", &Environment::model,
     "`shipped`, a name that `weft info` lists, or a file of `weft tune --quick`",
     "the user's own file if it is of this processor, else what Weft ships",
     "the model of the machine: which loop copies, how slots turn, how long chunks are",
     "copies and slots each rank's own, lengths rank 0's"},
    {"WEFT_NODE", &Environment::node, "any text",
     "ranks of one host and one network namespace are on one node",
     "ranks of one host that name different nodes do not share memory", kEachRank},
    {"WEFT_OFI_PROVIDER", &Environment::ofi_provider, "a name, as `fi_info` prints it",
     "libfabric's first that serves the interface", "libfabric's provider", kAlike},
    {"WEFT_RENDEZVOUS", &Environment::rendezvous, "a directory that is new for each job",
     "`MASTER_ADDR` and `MASTER_PORT`, else what the launcher says", "where ranks meet", kAlike},
    {"WEFT_REPRODUCIBLE", &Environment::reproducible, "`0` or `1`", "`0`",
     "sums whose bits depend on nothing but the inputs and the number of ranks", kAnyRank},
    {"WEFT_SECRET", &Environment::secret, "any text",
     "every process that the rendezvous tells of the ports is let in",
     "what a process must know to be let in over the network; it needs OpenSSL's libcrypto",
     kAlike},
    {"WEFT_TUNING", &Environment::tuning, "a file, or `none`",
     "the user's own that `weft tune` wrote on this machine",
     "the tuning file, by which algorithms are chosen", kFirstRank},
    {"WEFT_WIRE", &Environment::wire, "`bfloat16` or `none`", "`none`",
     "float32 sums and averages of allreduce and reduce_scatter cross nodes in bfloat16, in half "
     "the bytes",
     kAlike},
    {"WEFT_WORKERS", &Environment::workers, "`0` or `1`, or `auto`", "`1`",
     "threads that carry on asynchronous calls; `0`: only threads inside a call of Weft do",
     kEachRank},
    {"WEFT_WORKER_CORES", &Environment::worker_cores, "processors, as `3` or `2,6-7`, or `auto`",
     "`auto`: those of the rank's share of the affinity mask that `OMP_NUM_THREADS` leaves free",
     "the processors on which that thread runs", kEachRank},
    {"WEFT_WORKER_NICE", &Environment::worker_nice, "-20 to 19", "the process's own",
     "the nice value of that thread", kEachRank},
};

// What tests, scripts and `weft bench` say to themselves.
constexpr std::string_view kOwn[] = {"WEFT_ACCEPTANCE_BACKEND", "WEFT_BENCH_BURST",
                                     "WEFT_NO_SYSTEM_PACKAGES", "WEFT_UPDATE_GOLDEN"};
constexpr std::string_view kOfTests = "WEFT_TEST_";

bool is_known(std::string_view name) {
  return name.starts_with(kOfTests) ||
         std::ranges::any_of(kVariables, [&](const Variable& v) { return v.name == name; }) ||
         std::ranges::find(kOwn, name) != std::end(kOwn);
}

// Letters to insert, drop or replace that make one of the other; two that changed places count 1.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

// The variable that `name` is at most a third of its own letters away from.
const char* meant_by(std::string_view name) {
  const std::size_t prefix = std::string_view("WEFT_").size();
  const char* nearest = nullptr;
  std::size_t least = (name.size() - prefix) / 3 + 1;
  for (const Variable& variable : kVariables) {
    const std::size_t away = distance(name, variable.name);
    if (away < least) least = away, nearest = variable.name;
  }
  return nearest;
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  for (const Variable& variable : kVariables)
    if (const char* const value = std::getenv(variable.name)) environment.*variable.value = value;
  return environment;
}

std::span<const Variable> variables() { return kVariables; }

std::vector<std::string> unknown_variables() {
  std::vector<std::string> sentences;
  for (char** entry = ::environ; entry && *entry; ++entry) {
    std::string_view name = *entry;
    name = name.substr(0, name.find('='));
    if (!name.starts_with("WEFT_") || is_known(name)) continue;
    std::string sentence = std::string(name) + " is not a variable of Weft";
    if (const char* const meant = meant_by(name))
      sentence += std::string("; did you mean ") + meant + "?";
    else
      sentence += ": weft info lists them";
    sentences.push_back(std::move(sentence));
  }
  std::ranges::sort(sentences);
  return sentences;
}

std::filesystem::path user_file(const std::string& name) {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* const value = std::getenv(variable);
    return value ? value : "";
  };
  const std::filesystem::path config = folder("XDG_CONFIG_HOME"), home = folder("HOME");
  if (config.empty() && home.empty()) return {};
  return (config.empty() ? home / ".config" : config) / "weft" / name;
}

}  // namespace weft

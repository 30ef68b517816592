// This build and its machine, as `weft info` prints them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// A way to move bytes between ranks.
struct FabricInfo {
  std::string name;  // "shm"
  bool available = false;
  std::string text;  // how it moves bytes, or why it is not there
};

// Caches of one kind.
struct CacheInfo {
  int level = 0;
  std::string type;                    // "Data", "Unified"
  std::size_t bytes = 0;               // of each
  std::vector<std::string> shared_by;  // the processors of each, as the kernel lists them: "0,8"
};

// A socket or a memory node.
struct DomainInfo {
  int number = 0;
  int cores = 0;
  std::string processors;  // "0-7"
  std::size_t bytes = 0;   // of memory
};

// An environment variable of Weft.
struct VariableInfo {
  std::string name;      // "WEFT_FABRIC"
  std::string value;     // empty: not set; of a secret "(set)"
  std::string kind;      // what may be written
  std::string fallback;  // what holds where it is not set
  std::string meaning;
  std::string scope;  // on which ranks it counts
};

// The thread that carries on asynchronous calls, as a communicator made here would place it. With
// the ranks of its job it knows better who shares the affinity mask; here the launcher's variables
// count.
struct WorkerInfo {
  std::string obstacle;  // why no communicator can be made, and the remedy; the rest is then empty
  bool exists = false;
  std::string mask, compute;  // processors: of this process, of its compute threads
  std::string cores;          // of the worker; empty: any
  std::string nice;           // empty: the process's own
  std::string why;
};

// The model of the machine that communicators made here use (docs/machine-model.md).
struct ModelInfo {
  std::string processor;  // as files name it
  std::string name;       // "zen5", a file; "intel", "unknown": a rule chose it
  // Its numbers in bytes, by name: reuse, lend_to, smallest_chunk, ...
  std::vector<std::pair<std::string, std::size_t>> numbers;
  std::string known;     // names that WEFT_MODEL may give
  std::string left_out;  // the user's own file and why it is not used; empty: none is left out
  std::string obstacle;  // why there is none: WEFT_MODEL or a file is wrong
};

// If the kernel does not say, strings are empty and numbers zero.
struct SystemInfo {
  std::string version;          // of Weft
  std::string instruction_set;  // of the reduction loops that were chosen
  std::vector<FabricInfo> fabrics;

  std::string processor;        // model
  int online_processors = 0;    // of the machine
  int affinity_processors = 0;  // that this process may run on
  double quota_processors = 0;  // that its cgroup grants; 0: no limit
  std::string quota_file;       // that says so
  int usable_cores = 0;         // the lesser of both: what decides whether waiting spins
  // Variables by which launchers tell of threads and ranks, as far as they are set.
  std::vector<std::pair<std::string, std::string>> launch_hints;
  WorkerInfo worker;
  ModelInfo model;

  // Why hwloc cannot be asked, and the remedy: these lists are empty then. Empty: it was.
  std::string layout_missing;
  std::vector<DomainInfo> sockets, numa_nodes;
  std::vector<CacheInfo> caches;

  std::size_t huge_page_bytes = 0;
  std::size_t huge_pages_reserved = 0;
  std::string transparent_huge_pages;         // "always", "madvise", "never"
  std::string shared_transparent_huge_pages;  // of shared memory, which shm's segments are
};

// Reads the machine again at each call. Thread safe.
SystemInfo system_info();

// All that Weft reads, by name, as they are now.
std::vector<VariableInfo> environment_variables();
// One sentence for each variable WEFT_... that Weft does not know: "WEFT_ALGORITM is not a variable
// of Weft; did you mean WEFT_ALGORITHM?". Weft works without it; a user who starts a job should see
// it.
std::vector<std::string> unknown_environment_variables();

}  // namespace weft

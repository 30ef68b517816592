// What this build is and what it found on this machine: what `weft info` prints.
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

struct CacheInfo {
  int level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  std::size_t bytes = 0;
  std::string shared_by;  // processors, as the kernel lists them: "0,8"
};

struct NumaInfo {
  int node = 0;
  std::string processors;  // "0-7"
  std::size_t bytes = 0;   // of memory
};

// Where the kernel does not say, strings are empty and numbers zero.
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

  std::vector<CacheInfo> caches;  // of the first processor
  std::vector<NumaInfo> numa_nodes;

  std::size_t huge_page_bytes = 0;
  std::size_t huge_pages_reserved = 0;
  std::string transparent_huge_pages;         // "always", "madvise", "never"
  std::string shared_transparent_huge_pages;  // of shared memory, which shm's segments are
};

// Reads the machine anew at each call. Thread safe.
SystemInfo system_info();

}  // namespace weft

// The processor, caches, memory nodes and huge pages of this machine, as the kernel tells.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/info.h"

namespace weft {

// Where the kernel does not say, strings are empty and numbers zero.
struct Machine {
  std::string processor;          // "AMD EPYC 9755"; on Arm "implementer 0x41 part 0xd4f"
  std::vector<CacheInfo> caches;  // of the first processor
  std::vector<NumaInfo> numa_nodes;

  std::size_t huge_page_bytes = 0;
  std::size_t huge_pages_reserved = 0;
  std::string transparent_huge_pages;         // "always", "madvise", "never"
  std::string shared_transparent_huge_pages;  // of shared memory
};

// Reads root + "/proc/cpuinfo" and so on, afresh at each call. Thread safe.
Machine read_machine(const std::string& root = "");

// Bytes of the data (or unified) cache of a level; 0 if there is none or it is not known.
std::size_t data_cache_bytes(const Machine& machine, int level);

}  // namespace weft

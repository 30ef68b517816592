// Sockets, memory nodes and caches of this machine, by hwloc.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

// A socket or a memory node.
struct Domain {
  int number = 0;               // the kernel's
  int cores = 0;                // of which a processor is one, or one of several threads
  std::vector<int> processors;  // as the kernel numbers them
  std::size_t bytes = 0;        // of its memory
};

struct Cache {
  int level = 0;
  std::string type;  // "Data", "Unified"
  std::size_t bytes = 0;
  std::vector<int> processors;  // that share it
};

struct Layout {
  std::string missing;  // why nothing is known, and the remedy; empty: hwloc was asked
  std::vector<Domain> sockets, numa_nodes;
  std::vector<Cache> caches;  // level by level
};

// Asks hwloc afresh at each call: about a millisecond, more on machines with many processors. hwloc
// reads its own variables (HWLOC_SYNTHETIC, HWLOC_XMLFILE). Never throws. Thread safe.
Layout read_layout();

// The number of the domain that all of these processors are of; -1: of several, or not known.
int domain_of(const std::vector<Domain>& domains, const std::vector<int>& processors);

}  // namespace weft

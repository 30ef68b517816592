// The processor and huge pages of this machine, as the kernel tells.
#pragma once

#include <cstddef>
#include <string>

namespace weft {

// If the kernel does not say, strings are empty and numbers zero.
struct Machine {
  std::string processor;  // "AMD EPYC 9755"; on Arm "implementer 0x41 part 0xd4f"

  std::size_t huge_page_bytes = 0;
  std::size_t huge_pages_reserved = 0;
  std::string transparent_huge_pages;         // "always", "madvise", "never"
  std::string shared_transparent_huge_pages;  // of shared memory
};

// Reads root + "/proc/cpuinfo" and so on, afresh at each call. Thread safe.
Machine read_machine(const std::string& root = "");

}  // namespace weft

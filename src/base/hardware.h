// The processor and huge pages of this machine, as the kernel tells.
#pragma once

#include <cstddef>
#include <string>

namespace weft {

// If the kernel does not say, strings are empty and numbers zero.
struct Hardware {
  std::string processor;  // "AMD EPYC 9755"; on Arm "implementer 0x41 part 0xd4f"

  std::size_t huge_page_bytes = 0;
  std::size_t huge_pages_reserved = 0;
  std::string transparent_huge_pages;         // "always", "madvise", "never"
  std::string shared_transparent_huge_pages;  // of shared memory
};

// Reads root + "/proc/cpuinfo" and so on, afresh at each call. Thread safe.
Hardware read_hardware(const std::string& root = "");

}  // namespace weft

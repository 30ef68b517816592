// The processor that this process runs on: what it is, and its caches.
#pragma once

#include <cstddef>
#include <string>

#include "base/cpu.h"

namespace weft {

// Texts are "" and numbers 0 where processor and kernel do not say.
struct Processor {
  std::string vendor;  // "AuthenticAMD", "GenuineIntel"
  int family = 0, model = 0;
  bool fast_strings = false;        // ERMS: `rep movsb` is worth it for long copies
  bool fast_short_strings = false;  // FSRM: for short ones too
  // Bytes of a core's first data cache and second cache, and of the third, which this many
  // processors of the kernel share.
  std::size_t l1 = 0, l2 = 0, l3 = 0;
  int l3_sharers = 0;

  bool operator==(const Processor&) const = default;
  // One line: "AuthenticAMD 25/17, L1 32 KiB, L2 1024 KiB, L3 32768 KiB for 16".
  std::string text() const;
};

// The first processor that the calling thread may use. Caches are read below `probe.root`. Thread
// safe.
Processor this_processor(const CpuProbe& probe = {});

}  // namespace weft

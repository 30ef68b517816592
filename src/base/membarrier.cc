#include "base/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft {
namespace {

long membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool register_heavy_fence() {
  // A forked child inherits the registration, so once for the process is enough.
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
  return registered;
}

void heavy_fence() { membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace weft

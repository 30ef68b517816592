// Whether another process of this host lives.
#pragma once

#include <sys/types.h>

namespace weft {

// kEnding: it has begun to exit, has exited, or there is none of that number. kUnknown: /proc does
// not say.
enum class ProcessState { kLiving, kEnding, kUnknown };
ProcessState state_of(pid_t pid);

}  // namespace weft

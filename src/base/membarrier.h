// A fence that one thread runs on behalf of all others. See membarrier(2).
#pragma once

namespace weft {

// Registers this process, once: from then on heavy_fence() of any process on this machine
// reaches its threads. False if the kernel (or its sandbox) has no such call.
bool register_heavy_fence();

// As if every running thread of every registered process had executed a full fence at some
// point during the call. Costs microseconds; in return those threads need no fence of their
// own, only a compiler barrier. Does nothing where register_heavy_fence() returned false:
// who waits must then look again now and then.
void heavy_fence();

}  // namespace weft

// The end of a program that has left operations under way.
//
// Python ends a thread that asks for the GIL once the interpreter is ending, and the process with
// it. So by then nothing of Weft's may be left that would ask: no operation that lets tensors go
// when it finishes, no callback.
#pragma once

#include <memory>

#include "weft/communicator.h"

namespace weft::torch_adapter {

// Thread safe. A forked child knows none of its parent's.
void settle_at_the_end(const std::shared_ptr<Communicator>& communicator);

// For `atexit`, without the GIL: gives the operations under way in these communicators five
// seconds, then aborts them; and gives the callbacks of futures five seconds more.
void end_of_program();

}  // namespace weft::torch_adapter

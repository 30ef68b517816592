// A simulation in a process of its own, as SimGrid's engine is one a process.
#pragma once

#include <sys/types.h>

#include "simulate/simulate.h"
#include "simulate/training.h"

namespace weft::simulate {

struct Child {
  pid_t process;
  int reader;  // lines of text, ended by the child's end; the caller closes it
};

// A fork of this process that simulates and writes what it finds:
//   progress MESSAGES                       now and then
//   done SECONDS JOULES MESSAGES BYTES      last, or
//   failed KIND TEXT                        a type of weft/error.h and what it says
// It dies with its parent, and on Ctrl-C. The caller waits for it. Thread safe.
// Throws Error if there can be no process or pipe.
Child start(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
            const Options& options);
// The same for a training step. Before it says "done MESSAGES" come
//   span RANK ITERATION OPERATION BEGIN END
Child start(const TrainingStep& step, const Topology& topology, const Options& options);

}  // namespace weft::simulate

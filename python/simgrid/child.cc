#include "child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "weft/error.h"

namespace weft::simulate {
namespace {

void say(int writer, const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t count = write(writer, line.data() + at, line.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) std::_Exit(1);  // nobody listens any more
    at += static_cast<std::size_t>(count);
  }
}

std::string found(const Outcome& outcome) {
  char line[160];
  std::snprintf(line, sizeof line, "done %.17g %.17g %lld %.17g\n", outcome.seconds, outcome.joules,
                static_cast<long long>(outcome.messages), outcome.bytes);
  return line;
}

std::string found(const TrainingOutcome& outcome) {
  std::string text;
  char line[160];
  for (const Span& span : outcome.spans) {
    std::snprintf(line, sizeof line, "span %d %d %d %.17g %.17g\n", span.rank, span.iteration,
                  span.operation, span.begin, span.end);
    text += line;
  }
  return text + "done " + std::to_string(outcome.messages) + "\n";
}

// What `simulate(options)` finds, or fails with.
template <typename Simulate>
std::string run(const Simulate& simulate, Options options, int writer) {
  options.progress = [writer](std::int64_t messages) {
    say(writer, "progress " + std::to_string(messages) + "\n");
  };
  try {
    return found(simulate(options));
  } catch (const InvalidArgument& error) {
    return std::string("failed InvalidArgument ") + error.what();
  } catch (const InvalidPlan& error) {
    return std::string("failed InvalidPlan ") + error.what();
  } catch (const std::exception& error) {
    return std::string("failed InternalError ") + error.what();
  }
}

template <typename Simulate>
Child fork_to(const Simulate& simulate, const Options& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(std::string("no pipe for a simulation: ") + std::strerror(errno));
  const pid_t parent = getpid(), process = fork();
  if (process < 0) {
    close(ends[0]), close(ends[1]);
    throw Error(std::string("no process for a simulation: ") + std::strerror(errno));
  }
  if (process > 0) {
    close(ends[1]);
    return {process, ends[0]};
  }
  // Python's handler would only note the signal, and nobody looks at the note here.
  std::signal(SIGINT, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(1);
  say(ends[1], run(simulate, options, ends[1]));
  std::_Exit(0);  // neither Python's exit handlers nor the parent's buffers are the child's
}

}  // namespace

Child start(const cost::Programs& programs, const cost::Call& call, const Topology& topology,
            const Options& options) {
  return fork_to([&](const Options& all) { return simulate(programs, call, topology, all); },
                 options);
}

Child start(const TrainingStep& step, const Topology& topology, const Options& options) {
  return fork_to([&](const Options& all) { return simulate_training(step, topology, all); },
                 options);
}

}  // namespace weft::simulate

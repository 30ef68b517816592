#include "base/process_state.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace weft {

ProcessState state_of(pid_t pid) {
  if (pid <= 0) return ProcessState::kUnknown;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return ProcessState::kEnding;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return ProcessState::kUnknown;
  // The name, in brackets, may hold anything.
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  char state = 0;
  long parent, group, session, terminal, foreground;
  unsigned long flags = 0;
  rest >> state >> parent >> group >> session >> terminal >> foreground >> flags;
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING, set before its sockets are closed
  if (!rest) return ProcessState::kUnknown;
  const bool ended = state == 'Z' || state == 'X' || (flags & kExiting);
  return ended ? ProcessState::kEnding : ProcessState::kLiving;
}

}  // namespace weft

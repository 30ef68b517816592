// Words for errno.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace weft {

inline bool is_out_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

// "memfd_create: Too many open files; raise ulimit -n". `error` is errno unless given.
inline std::string errno_text(const std::string& what, int error = errno) {
  return what + ": " + std::generic_category().message(error) +
         (is_out_of_descriptors(error) ? "; raise ulimit -n" : "");
}

}  // namespace weft

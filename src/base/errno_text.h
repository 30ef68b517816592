// Words for errno.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace weft {

// "memfd_create: Too many open files". `error` is errno unless given.
inline std::string errno_text(const std::string& what, int error = errno) {
  return what + ": " + std::generic_category().message(error);
}

}  // namespace weft

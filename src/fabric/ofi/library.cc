#include "fabric/ofi/library.h"

#include <dlfcn.h>

#include "weft/error.h"

namespace weft::ofi {
namespace {

constexpr const char* kFile = "libfabric.so.1";

template <typename Function>
void find(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(file, name));
  if (!function) throw Unsupported(std::string("ofi: ") + kFile + " has no " + name);
}

Library load() {
  // Never closed: its threads and tables may be in use until the process ends.
  void* const file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (!file) {
    throw Unsupported(std::string("ofi: libfabric cannot be loaded (") + ::dlerror() +
                      "); install it (Debian, Ubuntu: libfabric1; Fedora: libfabric)");
  }
  Library library;
  find(file, "fi_getinfo", library.getinfo);
  find(file, "fi_freeinfo", library.freeinfo);
  find(file, "fi_dupinfo", library.dupinfo);
  find(file, "fi_fabric", library.fabric);
  find(file, "fi_strerror", library.strerror);
  find(file, "fi_version", library.version);
  return library;
}

}  // namespace

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

std::string error_text(const char* call, long code) {
  return std::string(call) + ": " + library().strerror(static_cast<int>(-code));
}

void check(const char* call, long code) {
  if (code < 0) throw Unsupported("ofi: " + error_text(call, code));
}

}  // namespace weft::ofi

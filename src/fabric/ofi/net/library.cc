#include "fabric/ofi/net/library.h"

#include <dlfcn.h>
#include <csignal>
#include <string>

#include "base/environment.h"
#include "base/errno_text.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// WEFT_LIBFABRIC; else what the system has.
std::string file_name() {
  const std::string asked = Environment::read().libfabric;
  return asked.empty() ? "libfabric.so.1" : asked;
}

// The process's signal handlers, put back at the end. Libraries that libfabric brings along
// (libinfinipath) take those of fatal signals when they are loaded, write a file into the working
// directory and hide the crash from whoever watches for it.
class Handlers {
 public:
  Handlers() {
    for (int i = 1; i < kSignals; ++i) sigaction(i, nullptr, &before_[i]);
  }
  ~Handlers() {
    // Refused for the two that nobody may handle.
    for (int i = 1; i < kSignals; ++i) sigaction(i, &before_[i], nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  static constexpr int kSignals = 32;  // those after it are the C library's or nobody's
  struct sigaction before_[kSignals] = {};
};

template <typename Function>
void find(void* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(file, name));
  if (!function) throw Unsupported("ofi: " + file_name() + " has no " + name);
}

Library load() {
  const Handlers handlers;
  // Never closed: its threads and tables may be in use until the process ends.
  void* const file = ::dlopen(file_name().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!file) {
    throw Unsupported(std::string("ofi: libfabric cannot be loaded (") + ::dlerror() +
                      "); install it (Debian, Ubuntu: libfabric1; Fedora: libfabric), or say " +
                      "where it is by WEFT_LIBFABRIC");
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
  const int error = static_cast<int>(-code);
  return std::string(call) + ": " + library().strerror(error) +
         (is_out_of_descriptors(error) ? "; raise ulimit -n" : "");
}

void check(const char* call, long code) {
  if (code < 0) throw Unsupported("ofi: " + error_text(call, code));
}

}  // namespace weft::ofi

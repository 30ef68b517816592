// weft/error.h: each C++ type becomes the Python class of the same name in weft.errors.
#include "weft/error.h"

#include <exception>
#include <string_view>

#include "bindings.h"

namespace {

// A message may repeat bytes of a file or of the environment that are no UTF-8.
nb::object text_of(std::string_view what) {
  return nb::steal(
      PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "replace"));
}

// Raises the Python class of the same name, if `E` is what was thrown.
template <typename E>
bool raised(const std::exception_ptr& thrown, const char* name) {
  try {
    std::rethrow_exception(thrown);
  } catch (const E& error) {
    nb::object kind = nb::module_::import_("weft.errors").attr(name);
    PyErr_SetObject(kind.ptr(), text_of(error.what()).ptr());
    return true;
  } catch (...) {
    return false;
  }
}

void translate(const std::exception_ptr& thrown, void*) {
  bool done =
      raised<weft::InvalidArgument>(thrown, "InvalidArgument") ||
      raised<weft::Unsupported>(thrown, "Unsupported") ||
      raised<weft::Mismatch>(thrown, "Mismatch") || raised<weft::PeerLost>(thrown, "PeerLost") ||
      raised<weft::Timeout>(thrown, "Timeout") || raised<weft::Aborted>(thrown, "Aborted") ||
      raised<weft::InvalidPlan>(thrown, "InvalidPlan") ||
      raised<weft::InternalError>(thrown, "InternalError") ||
      raised<weft::Error>(thrown, "WeftError");
  if (!done) std::rethrow_exception(thrown);
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

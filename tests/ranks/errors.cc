#include "ranks/errors.h"

#include <stdexcept>
#include <typeinfo>

#include "weft/error.h"

namespace weft::testing {
namespace {

struct Type {
  const char* name;
  const std::type_info& type;
  std::exception_ptr (*make)(const std::string& what);
};

template <typename E>
Type type_of(const char* name) {
  return {name, typeid(E),
          [](const std::string& what) { return std::make_exception_ptr(E(what)); }};
}

const Type kTypes[] = {
    type_of<Aborted>("Aborted"),
    type_of<InternalError>("InternalError"),
    type_of<InvalidPlan>("InvalidPlan"),
    type_of<InvalidArgument>("InvalidArgument"),
    type_of<Mismatch>("Mismatch"),
    type_of<PeerLost>("PeerLost"),
    type_of<Timeout>("Timeout"),
    type_of<Unsupported>("Unsupported"),
    type_of<Error>("Error"),
    type_of<std::runtime_error>("another"),
};

}  // namespace

std::string text_of_error(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    for (const Type& type : kTypes)
      if (typeid(e) == type.type) return std::string(type.name) + ": " + e.what();
    return std::string("another: ") + e.what();
  } catch (...) {
    return "another: no std::exception";
  }
}

std::exception_ptr error_of_text(const std::string& text) {
  if (text.empty()) return nullptr;
  const std::size_t colon = text.find(": ");
  for (const Type& type : kTypes)
    if (text.substr(0, colon) == type.name) return type.make(text.substr(colon + 2));
  return std::make_exception_ptr(std::runtime_error("the text of no error: " + text));
}

}  // namespace weft::testing

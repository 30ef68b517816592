// The words of the text form, in the order of the enums.
#include <array>

#include "weft/error.h"
#include "weft/plan.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, kVerbs> kVerbNames = {"copy", "reduce", "put",   "signal",
                                                             "wait", "credit", "flush", "native"};
constexpr std::array<std::string_view, 3> kBufferNames = {"input", "output", "slot"};

}  // namespace

std::string_view name_of(Verb verb) {
  auto i = static_cast<std::size_t>(verb);
  if (i >= kVerbNames.size()) throw InternalError("no verb " + std::to_string(i));
  return kVerbNames[i];
}

std::string_view name_of(Buffer buffer) {
  auto i = static_cast<std::size_t>(buffer);
  if (i >= kBufferNames.size()) throw InternalError("no buffer " + std::to_string(i));
  return kBufferNames[i];
}

}  // namespace weft

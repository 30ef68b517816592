#include "base/json_text.h"

#include <nlohmann/json.hpp>

#include "weft/error.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::size_t kMostShown = 80;
constexpr std::size_t kMostSaid = 300;  // the parser repeats what it could not read

}  // namespace

json parse_json(std::string_view text) {
  const auto check_level = [](int level, json::parse_event_t, json&) {
    if (level <= kMostJsonLevels) return true;
    throw InvalidArgument("lists and objects are nested deeper than " +
                          std::to_string(kMostJsonLevels) + " levels: take the inner ones out");
  };
  try {
    return json::parse(text, check_level);
  } catch (const json::exception& error) {
    const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    throw InvalidArgument(what.substr(what.find("] ") + 2, kMostSaid));
  }
}

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown - 3) + "...";
}

}  // namespace weft

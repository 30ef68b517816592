// JSON from outside: files, and words of other ranks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace weft {

// Levels of lists and objects that are read. What Weft writes has six.
inline constexpr int kMostJsonLevels = 16;

// Throws InvalidArgument naming the place if `text` is no JSON, has a number that a double cannot
// hold, or is nested deeper than that.
nlohmann::json parse_json(std::string_view text);

// A value for a message: its first characters.
std::string shown(const nlohmann::json& value);

}  // namespace weft

#include "select/settings.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/environment.h"
#include "base/json_text.h"
#include "select/tuning.h"
#include "weft/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::size_t chunk_of(const std::string& text) {
  if (text.empty()) return 0;
  std::size_t chunk = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, chunk);
  if (error != std::errc() || end != last)
    throw InvalidArgument("WEFT_CHUNK is \"" + text + "\": give a number of bytes, such as 131072");
  return chunk;
}

bool reproducible_of(const std::string& text) {
  if (!text.empty() && text != "0" && text != "1")
    throw InvalidArgument("WEFT_REPRODUCIBLE is \"" + text + "\": give 0 or 1");
  return text == "1";
}

// What the option or variable `name` says of the wire: "bfloat16" (or "bf16") or "none". Throws
// InvalidArgument for another word.
bool parse_wire(const std::string& name, const std::string& text) {
  if (text == "bfloat16" || text == "bf16") return true;
  if (text.empty() || text == "none") return false;
  throw InvalidArgument(name + " is \"" + text +
                        "\": give bfloat16, in which float32 sums then cross nodes, or none");
}

nlohmann::json lengths_json(const Lengths& lengths) {
  nlohmann::json json;
  for (const auto& field : length_fields()) json[field.name] = lengths.*field.value;
  return json;
}

}  // namespace

int Settings::nodes() const {
  return place.empty() ? 1 : static_cast<int>(std::set<int>(place.begin(), place.end()).size());
}

Settings Settings::of(bool reproducible, const std::string& wire) {
  Settings settings;
  const Environment environment = Environment::read();
  settings.algorithm = environment.algorithm;
  settings.chunk = chunk_of(environment.chunk);
  settings.reproducible = reproducible_of(environment.reproducible) || reproducible;
  settings.lengths = machine_model().lengths;
  settings.wire = parse_wire("WEFT_WIRE", environment.wire);
  if (!wire.empty()) settings.wire = parse_wire("wire", wire);
  return settings;
}

std::string Settings::to_text() const {
  return nlohmann::json{{"algorithm", algorithm},           {"chunk", chunk},
                        {"reproducible", reproducible},     {"wire", wire},
                        {"lengths", lengths_json(lengths)}, {"tuned", to_json(tuned)}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Settings Settings::parse(const std::string& text) {
  const auto json = parse_json(text);
  try {
    Settings settings;
    settings.algorithm = json.at("algorithm").get<std::string>();
    settings.chunk = json.at("chunk").get<std::size_t>();
    settings.reproducible = json.at("reproducible").get<bool>();
    settings.wire = json.at("wire").get<bool>();
    for (const auto& field : length_fields())
      settings.lengths.*field.value = json.at("lengths").at(field.name).get<std::size_t>();
    settings.tuned = rows_of(json.at("tuned"));
    return settings;
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(std::string("what rank 0 says of choosing is damaged: ") + error.what());
  }
}

std::string tuning_file(const std::string& option) {
  std::string asked = option.empty() ? Environment::read().tuning : option;
  if (asked == "none") return {};
  if (!asked.empty()) return asked;
  const fs::path own = user_file("tuning.json");
  std::error_code unreadable;
  if (own.empty() || !fs::exists(own, unreadable) || !measured_here(own)) return {};
  return own;
}

}  // namespace weft

#include "select/tuning.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/registry.h"
#include "base/hardware.h"
#include "base/json_text.h"
#include "weft/error.h"
#include "weft/registry.h"
#include "weft/select.h"

namespace weft {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;

constexpr const char* kVersionName = "weft_tuning";
constexpr std::uintmax_t kMostBytes = 16 << 20;
constexpr std::size_t kMostRows = 4096;
constexpr std::size_t kMostText = 300;  // of a message: rows may have long words
constexpr int kMostRanks = 1 << 16;
// Rank counts at which a row is tried: whether an algorithm reaches into peers shows with few.
constexpr int kMostTried = 64;

[[noreturn]] void wrong(const std::string& what) { throw InvalidArgument(what); }

// The result of `body`; what it finds wrong is said with the place.
template <typename Body>
auto in_place(const std::string& place, const Body& body) {
  try {
    return body();
  } catch (const InvalidArgument& error) {
    wrong(place + ": " + std::string(error.what()).substr(0, kMostText));
  } catch (const InvalidPlan& error) {  // of an algorithm that its parameters mislead
    wrong(place + ": " + std::string(error.what()).substr(0, kMostText));
  }
}

// That every name of `value` is one of `known`, and all `needed` ones are there.
void check_names(const json& value, const std::set<std::string>& needed,
                 std::set<std::string> known) {
  if (!value.is_object()) wrong(shown(value) + " stands where an object does, {\"name\": ...}");
  known.insert(needed.begin(), needed.end());
  for (const auto& [name, _] : value.items()) {
    if (known.contains(name)) continue;
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
    wrong("there is no " + shown(name) + "; there are: " + all);
  }
  for (const std::string& name : needed)
    if (!value.contains(name)) wrong("it lacks \"" + name + "\"");
}

std::string text_of(const json& object, const char* name) {
  const json& value = object.at(name);
  if (!value.is_string()) wrong(std::string(name) + " is " + shown(value) + ": give text");
  return value.get<std::string>();
}

template <typename T>
T whole_number(const json& value, const char* name) {
  if (!value.is_number_integer() || value < 0 || value.get<std::uint64_t>() > Extent<T>{}.to)
    wrong(std::string(name) + " has " + shown(value) + ": give whole numbers");
  return value.get<T>();
}

template <typename T>
Extent<T> extent_of(const json& row, const char* name) {
  Extent<T> extent;
  if (!row.contains(name)) return extent;
  const json& value = row.at(name);
  if (!value.is_array() || value.size() != 2)
    wrong(std::string(name) + " is " + shown(value) + ": give [from, to]; null is no end");
  extent.from = whole_number<T>(value[0], name);
  if (!value[1].is_null()) extent.to = whole_number<T>(value[1], name);
  if (extent.from > extent.to)
    wrong(std::string(name) + " is " + shown(value) + ": it ends before it begins");
  return extent;
}

// Times of candidates, by size: only the Python package looks at them.
void check_times(const json& row, const char* name) {
  if (!row.contains(name)) return;
  if (!row[name].is_array() || row[name].empty()) wrong(std::string(name) + " lists no sizes");
  for (const json& one : row[name]) {
    check_names(one, {"bytes", "us"}, {});
    whole_number<std::size_t>(one["bytes"], "bytes");
    if (!one["us"].is_object()) wrong(std::string(name) + " has no microseconds by algorithm");
    for (const auto& [algorithm, time] : one["us"].items())
      if (!time.is_number()) wrong("us of " + shown(algorithm) + " is " + shown(time));
  }
}

Row row_of(const json& value) {
  check_names(value, {"collective", "ranks", "bytes", "use"},
              {"nodes", "symmetric", "measured", "predicted"});
  Row row;
  row.collective = parse_collective(text_of(value, "collective"));
  row.ranks = extent_of<int>(value, "ranks");
  row.nodes = extent_of<int>(value, "nodes");
  row.bytes = extent_of<std::size_t>(value, "bytes");
  row.use = parse_choice(text_of(value, "use"));
  if (value.contains("symmetric")) {
    if (!value["symmetric"].is_boolean()) wrong("symmetric is neither true nor false");
    row.symmetric = value["symmetric"].get<bool>();
  }
  check_times(value, "measured");
  check_times(value, "predicted");
  return row;
}

// Checks that its algorithm exists, and supports the first of its rank counts with these
// parameters.
void check(const Row& row) {
  if (row.ranks.from > kMostRanks)
    wrong("it serves ranks from " + std::to_string(row.ranks.from) + " on: begin at most " +
          std::to_string(kMostRanks));
  if (row.use == Choice{kAsBuiltIn, {}, 0}) return;
  const Algorithm algorithm = find_algorithm(to_text(row.use), row.collective);
  if (algorithm.preset.contains("root")) throw InvalidArgument("the root is the call's");
  const int ranks = std::max(row.ranks.from, 1), few = std::min(ranks, kMostTried);
  const std::string refused = refusal(algorithm, ranks, algorithm.preset);
  if (!refused.empty() && row.ranks.to <= ranks)
    throw InvalidArgument(algorithm.name + " cannot serve " + std::to_string(ranks) +
                          " ranks: " + refused);
  if (!refusal(algorithm, few, algorithm.preset).empty()) return;
  if (needs_equal_counts(algorithm, few))
    throw InvalidArgument(algorithm.name + " serves equal counts only: name it in the call");
  if (!row.symmetric.value_or(false) && reaches_into_peers(algorithm, few))
    throw InvalidArgument(algorithm.name + " reaches into peers' memory: give \"symmetric\": true");
}

void check_version(const json& whole) {
  if (!whole.is_object() || !whole.contains(kVersionName))
    wrong(std::string("this is no tuning file: it has no \"") + kVersionName + "\"");
  if (whole[kVersionName] != kTuningVersion)
    wrong("this is a tuning file of version " + shown(whole[kVersionName]) +
          ", but Weft reads version " + std::to_string(kTuningVersion) +
          ": make it anew with `weft tune`");
}

std::string text_in(const std::string& file) {
  std::error_code failed;
  const bool regular = fs::is_regular_file(file, failed);
  if (!failed && !regular) wrong("it is no regular file: give one that `weft tune` wrote");
  const std::uintmax_t bytes = failed ? 0 : fs::file_size(file, failed);
  std::ifstream in(file, std::ios::binary);
  if (failed || !in) wrong("it cannot be read");
  if (bytes > kMostBytes)
    wrong("it has " + std::to_string(bytes) + " bytes and may have " + std::to_string(kMostBytes) +
          ": make it anew with `weft tune --fresh`");
  std::string text(bytes, ' ');
  in.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

json parsed(const std::string& file) {
  const json whole = parse_json(text_in(file));
  check_version(whole);
  check_names(whole, {kVersionName, "machine", "rows"}, {"made_by"});
  check_names(whole["machine"], {"processor", "cores"}, {});
  if (!whole["rows"].is_array()) wrong("rows is no list");
  if (whole["rows"].size() > kMostRows)
    wrong("it has " + std::to_string(whole["rows"].size()) + " rows and may have " +
          std::to_string(kMostRows) + ": let each serve more ranks or sizes");
  return whole;
}

json extent_json(const auto& extent) {
  json end = nullptr;
  if (extent.to != Extent<decltype(extent.to)>{}.to) end = extent.to;
  return json::array({extent.from, end});
}

}  // namespace

std::vector<Row> read_tuning(const std::string& file) {
  return in_place(file, [&] {
    const json whole = parsed(file);
    std::vector<Row> rows;
    for (const json& value : whole["rows"])
      in_place("row " + std::to_string(rows.size() + 1), [&] {
        rows.push_back(row_of(value));
        check(rows.back());
      });
    return rows;
  });
}

bool measured_here(const std::string& file) {
  return in_place(file, [&] {
    const json machine = parsed(file)["machine"];
    return text_of(machine, "processor") == read_hardware().processor &&
           whole_number<long>(machine["cores"], "cores") == sysconf(_SC_NPROCESSORS_ONLN);
  });
}

json to_json(const std::vector<Row>& rows) {
  json all = json::array();
  for (const Row& row : rows) {
    json value = {{"collective", name_of(row.collective)},
                  {"ranks", extent_json(row.ranks)},
                  {"nodes", extent_json(row.nodes)},
                  {"bytes", extent_json(row.bytes)},
                  {"use", to_text(row.use)}};
    if (row.symmetric) value["symmetric"] = *row.symmetric;
    all.push_back(std::move(value));
  }
  return all;
}

std::vector<Row> rows_of(const json& list) {
  std::vector<Row> rows;
  for (const json& value : list) rows.push_back(row_of(value));
  return rows;
}

}  // namespace weft

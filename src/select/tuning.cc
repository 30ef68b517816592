#include "select/tuning.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/registry.h"
#include "base/machine.h"
#include "weft/error.h"
#include "weft/select.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr const char* kVersionName = "weft_tuning";

[[noreturn]] void wrong(const std::string& what) { throw InvalidArgument(what); }

// What `body` gives; what it finds wrong is said with the place.
template <typename Body>
auto in_place(const std::string& place, const Body& body) {
  try {
    return body();
  } catch (const InvalidArgument& error) {
    wrong(place + ": " + error.what());
  }
}

// That every name of `value` is one of `known`, and all `needed` ones are there.
void check_names(const json& value, const std::set<std::string>& needed,
                 std::set<std::string> known) {
  if (!value.is_object()) wrong(value.dump() + " stands where an object does, {\"name\": ...}");
  known.insert(needed.begin(), needed.end());
  for (const auto& [name, _] : value.items()) {
    if (known.contains(name)) continue;
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
    wrong("there is no \"" + name + "\"; there are: " + all);
  }
  for (const std::string& name : needed)
    if (!value.contains(name)) wrong("it lacks \"" + name + "\"");
}

std::string text_of(const json& object, const char* name) {
  const json& value = object.at(name);
  if (!value.is_string()) wrong(std::string(name) + " is " + value.dump() + ": give text");
  return value.get<std::string>();
}

template <typename T>
T whole_number(const json& value, const char* name) {
  if (!value.is_number_integer() || value < 0 || value.get<std::uint64_t>() > Extent<T>{}.to)
    wrong(std::string(name) + " has " + value.dump() + ": give whole numbers");
  return value.get<T>();
}

template <typename T>
Extent<T> extent_of(const json& row, const char* name) {
  Extent<T> extent;
  if (!row.contains(name)) return extent;
  const json& value = row.at(name);
  if (!value.is_array() || value.size() != 2)
    wrong(std::string(name) + " is " + value.dump() + ": give [from, to]; null is no end");
  extent.from = whole_number<T>(value[0], name);
  if (!value[1].is_null()) extent.to = whole_number<T>(value[1], name);
  if (extent.from > extent.to)
    wrong(std::string(name) + " is " + value.dump() + ": it ends before it begins");
  return extent;
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
  return row;
}

// That its algorithm exists, and serves the first of its rank counts with these parameters.
void check(const Row& row) {
  if (row.use == Choice{kAsBuiltIn, {}, 0}) return;
  const Algorithm algorithm = find_algorithm(to_text(row.use), row.collective);
  if (algorithm.preset.contains("root")) throw InvalidArgument("the root is the call's");
  const int ranks = std::max(row.ranks.from, 1);
  const std::string refused = refusal(algorithm, ranks, algorithm.preset);
  if (!refused.empty() && row.ranks.to <= ranks)
    throw InvalidArgument(algorithm.name + " cannot serve " + std::to_string(ranks) +
                          " ranks: " + refused);
  if (refused.empty() && !row.symmetric.value_or(false) && reaches_into_peers(algorithm, ranks))
    throw InvalidArgument(algorithm.name + " reaches into peers' memory: give \"symmetric\": true");
}

void check_version(const json& whole) {
  if (!whole.is_object() || !whole.contains(kVersionName))
    wrong(std::string("this is no tuning file: it has no \"") + kVersionName + "\"");
  if (whole[kVersionName] != kTuningVersion)
    wrong("this is a tuning file of version " + whole[kVersionName].dump() +
          ", but Weft reads version " + std::to_string(kTuningVersion) +
          ": make it anew with `weft tune`");
}

json parsed(const std::string& file) {
  std::ifstream in(file);
  if (!in) wrong("it cannot be read");
  json whole;
  try {
    whole = json::parse(in);
  } catch (const json::parse_error& error) {
    const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at ..."
    wrong(what.substr(what.find("] ") + 2));
  }
  check_version(whole);
  check_names(whole, {kVersionName, "machine", "rows"}, {"made_by"});
  check_names(whole["machine"], {"processor", "cores"}, {});
  if (!whole["rows"].is_array()) wrong("rows is no list");
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
    return text_of(machine, "processor") == read_machine().processor &&
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

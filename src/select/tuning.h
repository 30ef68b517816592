// Tuning files: tables that `weft tune` and `weft search` write, as JSON. docs/selection.md
// describes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "select/row.h"

namespace weft {

inline constexpr int kTuningVersion = 1;

// The rows of a file, every algorithm looked up. Throws InvalidArgument naming the file and the
// row.
std::vector<Row> read_tuning(const std::string& file);
// Whether a file says that it was measured on a machine like this one: processor and cores. Throws
// InvalidArgument if it cannot be read.
bool measured_here(const std::string& file);

// Rows as a file has them, and back. What to_json gave is right and not looked up again.
nlohmann::json to_json(const std::vector<Row>& rows);
std::vector<Row> rows_of(const nlohmann::json& list);

}  // namespace weft

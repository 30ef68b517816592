// Files with a model of the machine, as `weft tune --quick` writes them: JSON,
// docs/machine-model.md.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/machine_model.h"

namespace weft {

// What is shipped for `processor`, with the numbers that the file has in their place, wherever it
// was measured. Throws InvalidArgument naming the file: it is too long, another user's or writable
// by others, of another version, or says what there is not.
MachineModel read_model(const std::filesystem::path& file, const Processor& processor);

struct OwnModel {
  std::optional<MachineModel> model;
  std::string left_out;  // the file and why there is no model
};

// The same of a user's own file, which is left out if it was measured on another processor or is
// of another version.
OwnModel read_own_model(const std::filesystem::path& file, const Processor& processor);

}  // namespace weft

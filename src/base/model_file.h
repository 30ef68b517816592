// Files with a model of the machine, as `weft tune --quick` writes them: JSON,
// docs/machine-model.md.
#pragma once

#include <filesystem>
#include <optional>

#include "base/machine_model.h"

namespace weft {

// What is shipped for `processor`, with the numbers that the file has in their place. Nothing if
// the file was measured on another processor or is of another version, unless `any`. Throws
// InvalidArgument naming the file: it is too long, another user's or writable by others, or says
// what there is not.
std::optional<MachineModel> read_model(const std::filesystem::path& file,
                                       const Processor& processor, bool any);

}  // namespace weft

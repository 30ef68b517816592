#pragma once

namespace weft {

// Ranks of one communicator run the same version.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace weft

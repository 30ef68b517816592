// What several fabrics do with payloads.
#pragma once

#include "fabric/fabric.h"

namespace weft {

// Writes the payload into its slot, unless it is there.
void stage(const Outgoing& out);
// Into another one.
void stage(std::byte* slot, const Outgoing& out);

// Writes a payload to its place in a reader's output.
void store(std::byte* place, const Outgoing& out);

// Where a payload lies that was written into the own output. Throws InternalError if the place is
// outside of it.
const std::byte* in_output(const Buffers& mine, std::uint64_t offset, std::size_t bytes);

}  // namespace weft

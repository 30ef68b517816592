#include "fabric/delivery.h"

#include "kernels/kernels.h"
#include "weft/error.h"

namespace weft {

void stage(const Outgoing& out) {
  if (out.slot->filled) return;
  store(out.slot->data, out);
  out.slot->filled = true;
}

void store(std::byte* place, const Outgoing& out) {
  kernels::copy(place, nullptr, out.source, out.bytes);
}

const std::byte* in_output(const Buffers& mine, std::uint64_t offset, std::size_t bytes) {
  if (offset > mine.bytes.size() || bytes > mine.bytes.size() - offset)
    throw InternalError("a peer names a place outside of this rank's output");
  return mine.bytes.data() + offset;
}

}  // namespace weft

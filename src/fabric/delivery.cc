#include "fabric/delivery.h"

#include "kernels/copy.h"
#include "weft/error.h"

namespace weft {

[[gnu::hot]] void stage(const Outgoing& out) {
  if (out.slot->filled) return;
  kernels::copy(out.slot->data, out.source, out.bytes, {kernels::To::kSlot, out.whole});
  out.slot->filled = true;
}

void store(std::byte* place, const Outgoing& out) {
  kernels::copy(place, out.source, out.bytes, kernels::To::kPeer);
}

const std::byte* in_output(const Buffers& mine, std::uint64_t offset, std::size_t bytes) {
  if (offset > mine.bytes.size() || bytes > mine.bytes.size() - offset)
    throw InternalError("a peer names a place outside of this rank's output");
  return mine.bytes.data() + offset;
}

}  // namespace weft

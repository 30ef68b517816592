#include "fabric/delivery.h"

#include "kernels/copy.h"
#include "weft/error.h"

namespace weft {
namespace {

void write(std::byte* place, const Outgoing& out, kernels::Filling filling) {
  if (out.late) return out.late->write(place);
  kernels::copy(place, out.source, out.bytes, filling);
}

}  // namespace

[[gnu::hot]] void stage(const Outgoing& out) {
  if (out.slot->filled) return;
  stage(out.slot->data, out);
  out.slot->filled = true;
}

[[gnu::hot]] void stage(std::byte* slot, const Outgoing& out) {
  write(slot, out, {kernels::To::kSlot, out.whole});
}

[[gnu::hot]] void store(std::byte* place, const Outgoing& out) {
  write(place, out, kernels::To::kPeer);
}

const std::byte* in_output(const Buffers& mine, std::uint64_t offset, std::size_t bytes) {
  if (offset > mine.bytes.size() || bytes > mine.bytes.size() - offset)
    throw InternalError("a peer names a place outside of this rank's output");
  return mine.bytes.data() + offset;
}

}  // namespace weft

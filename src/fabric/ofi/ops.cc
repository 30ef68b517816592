#include "fabric/ofi/ops.h"

#include <utility>

namespace weft::ofi {

Op* Ops::take(Op::Kind kind) {
  if (free_.empty()) add_slab();
  Op* const op = free_.back();
  free_.pop_back();
  op->kind = kind;
  return op;
}

void Ops::add_slab() {
  auto slab = std::make_unique<Slab>();
  if (register_) slab->region = register_(slab->buffers.data(), slab->buffers.size());
  for (std::size_t i = 0; i < Slab::kOps; ++i) {
    Op& op = slab->ops[i];
    op.rail = rail_;
    op.buffer = slab->buffers.data() + i * kMostPacketBytes;
    op.descriptor = slab->region ? fi_mr_desc(slab->region.get()) : nullptr;
    free_.push_back(&op);
  }
  slabs_.push_back(std::move(slab));
}

}  // namespace weft::ofi

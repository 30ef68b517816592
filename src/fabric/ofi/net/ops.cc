#include "fabric/ofi/net/ops.h"

#include <new>
#include <utility>

namespace weft::ofi {
namespace {

// Packets lie so that their payloads begin a line.
constexpr std::size_t kLine = 64;
constexpr std::size_t kBefore = kLine - MessagePacket::kHead % kLine;

}  // namespace

Ops::Ops(std::size_t rail, std::size_t bytes, std::size_t slab, Register registers)
    : rail_(rail),
      stride_((kBefore + bytes + kLine - 1) / kLine * kLine),
      slab_(slab),
      register_(std::move(registers)) {}

Op* Ops::take(Op::Kind kind) {
  if (free_.empty()) add_slab();
  Op* const op = free_.back();
  free_.pop_back();
  op->kind = kind;
  op->seal = nullptr;
  return op;
}

void Ops::break_seals(const Unsent& account) {
  for (const auto& slab : slabs_) {
    for (Op& op : slab->ops) {
      if (op.account.unsent.get() == &account && op.seal) op.set_seal(Seal::kBroken);
    }
  }
}

void Ops::add_slab() {
  auto slab = std::make_unique<Slab>();
  slab->ops = std::vector<Op>(slab_);
  slab->buffers.reset(static_cast<std::byte*>(std::aligned_alloc(kLine, slab_ * stride_)));
  std::byte* const first = slab->buffers.get();
  if (!first) throw std::bad_alloc();
  if (register_) slab->region = register_(first, slab_ * stride_);
  for (std::size_t i = 0; i < slab_; ++i) {
    Op& op = slab->ops[i];
    op.rail = rail_;
    op.buffer = first + i * stride_ + kBefore;
    op.descriptor = slab->region ? fi_mr_desc(slab->region.get()) : nullptr;
    free_.push_back(&op);
  }
  slabs_.push_back(std::move(slab));
}

}  // namespace weft::ofi

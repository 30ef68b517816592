#include "fabric/composite/composite_fabric.h"

#include "fabric/composite/endpoint.h"
#include "fabric/composite/words.h"
#include "weft/error.h"

namespace weft::composite {
namespace {

constexpr std::string_view kAddressMark = "both";

Words parse(const std::string& address) {
  return Words::parse(kAddressMark, address, "the address of two fabrics");
}

}  // namespace

CompositeFabric::CompositeFabric(std::shared_ptr<Fabric> near, std::shared_ptr<FarFabric> far)
    : near_(std::move(near)),
      far_(std::move(far)),
      name_(std::string(near_->name()) + "+" + std::string(far_->name())) {
  // Endpoints may outlive both, and ring.
  far_->forward_rings([weak = near_->weak_from_this()] {
    if (const auto near = weak.lock()) near->ring();
  });
}

std::string CompositeFabric::address() const {
  return Words{near_->address(), far_->address()}.text(kAddressMark);
}

std::string CompositeFabric::obstacle(const std::string& address) const {
  const Words words = parse(address);
  return near_->obstacle(words.near).empty() ? "" : far_->obstacle(words.far);
}

std::unique_ptr<Endpoint> CompositeFabric::open(const std::vector<std::string>& addresses, int me,
                                                Clock::time_point deadline) {
  const std::size_t members = addresses.size();
  std::vector<std::string> near(members), far(members);
  std::vector<bool> is_near(members, true);
  for (std::size_t i = 0; i < members; ++i) {
    const Words words = parse(addresses[i]);
    const bool own = static_cast<int>(i) == me;
    is_near[i] = own || near_->obstacle(words.near).empty();
    if (is_near[i]) near[i] = words.near;
    if (own || !is_near[i]) far[i] = words.far;
  }
  auto near_lane = near_->open(near, me, deadline);
  auto far_lane = far_->open(far, me, deadline);
  return std::make_unique<CompositeEndpoint>(std::move(near_lane), std::move(far_lane),
                                             std::move(is_near));
}

SymmetricBlock CompositeFabric::allocate(std::size_t bytes, MemoryUse use) {
  const SymmetricBlock block = near_->allocate(bytes, use);
  far_->adopt(block, {block.data, [near = near_, block](void*) { near->release(block); }});
  return block;
}

// The near fabric releases it as soon as nothing is sent from it any more.
void CompositeFabric::release(const SymmetricBlock& block) { far_->disown(block); }

Location CompositeFabric::locate(const void* data, std::size_t bytes) const {
  return near_->locate(data, bytes);
}

std::uint32_t CompositeFabric::announce() {
  (void)far_->announce();
  return near_->announce();
}

void CompositeFabric::sleep(std::uint32_t announced) {
  near_->sleep(announced);
  far_->retire();
}

void CompositeFabric::retire() {
  near_->retire();
  far_->retire();
}

void CompositeFabric::ring() { near_->ring(); }

void CompositeFabric::expect_crowd() {
  near_->expect_crowd();
  far_->expect_crowd();
}

}  // namespace weft::composite

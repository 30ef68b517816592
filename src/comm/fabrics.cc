// The fabrics that there are, and what users do with one.
#include "fabric/process.h"
#include "fabric/shm/shm_fabric.h"
#include "weft/communicator.h"
#include "weft/error.h"
#if WEFT_OFI
#include "fabric/ofi/ofi_fabric.h"
#endif

namespace weft {

std::shared_ptr<Fabric> make_shm_fabric() { return std::make_shared<shm::ShmFabric>(); }

std::shared_ptr<Fabric> make_ofi_fabric() {
#if WEFT_OFI
  return std::make_shared<ofi::OfiFabric>(ofi::choose_provider());
#else
  throw Unsupported(
      "ofi: this Weft was built without libfabric's headers (Debian, Ubuntu: libfabric-dev)");
#endif
}

std::shared_ptr<Fabric> process_fabric() {
  if (auto fabric = default_fabric()) return fabric;
  return keep_default_fabric(make_shm_fabric());
}

std::shared_ptr<void> symmetric_alloc(Fabric& fabric, std::size_t bytes) {
  const auto keeper = fabric.weak_from_this().lock();
  if (!keeper) throw InvalidArgument("fabric: symmetric_alloc needs one held by a shared_ptr");
  const SymmetricBlock block = keeper->allocate(bytes);
  return {block.data, [keeper, block](void*) { keeper->release(block); }};
}

bool is_symmetric(const Fabric& fabric, const void* data, std::size_t bytes) {
  return static_cast<bool>(fabric.locate(data, bytes));
}

}  // namespace weft

// The fabrics that there are, and what users do with one.
#include "comm/fabrics.h"

#include "fabric/composite/composite_fabric.h"
#include "fabric/mpi/abi.h"
#include "fabric/mpi/find.h"
#include "fabric/mpi/mpi_fabric.h"
#include "fabric/process.h"
#include "fabric/shm/shm_fabric.h"
#include "weft/communicator.h"
#include "weft/error.h"
#if WEFT_OFI
#include "fabric/ofi/ofi_fabric.h"
#endif

namespace weft {

std::shared_ptr<Fabric> make_shm_fabric() { return std::make_shared<shm::ShmFabric>(); }

namespace {

std::shared_ptr<FarFabric> make_far_fabric() {
#if WEFT_OFI
  return std::make_shared<ofi::OfiFabric>(ofi::choose_provider());
#else
  throw Unsupported(
      "ofi: this Weft was built without libfabric's headers (Debian, Ubuntu: libfabric-dev)");
#endif
}

std::shared_ptr<Fabric> make_fabric(const std::string& name) {
  if (name == "shm") return make_shm_fabric();
  if (name == "ofi") return make_ofi_fabric();
  // Memory allocated before, over shared memory, is symmetric here as well.
  if (name == "shm+ofi")
    return std::make_shared<composite::CompositeFabric>(process_fabric("shm"), make_far_fabric());
  // All ranks of the job make one over MPI together. So no rank may make it a second time by
  // itself, and it lives as long as the process.
  if (name == "mpi") {
    static const auto& kept = *new auto(std::make_shared<mpi::MpiFabric>());
    return kept;
  }
  if (name == "shm+mpi") {
    static const auto& kept = *new auto(std::make_shared<mpi::MpiFabric>());
    return std::make_shared<composite::CompositeFabric>(process_fabric("shm"), kept);
  }
  throw InvalidArgument("fabric \"" + name + "\": give shm, ofi, shm+ofi, mpi or shm+mpi");
}

}  // namespace

FabricInfo ofi_info() {
#if WEFT_OFI
  try {
    return {"ofi", true, ofi::describe(ofi::choose_provider())};
  } catch (const Error& error) {
    return {"ofi", false, std::string("not usable, because ") + error.what()};
  }
#else
  return {"ofi", false, "not built, because libfabric's headers were not found"};
#endif
}

FabricInfo mpi_info() {
  try {
    const mpi::File file = mpi::find_library();
    return {"mpi", true, mpi::version_of(file) + ", " + file.path};
  } catch (const Error& error) {
    return {"mpi", false, std::string("not usable, because ") + error.what()};
  }
}

std::shared_ptr<Fabric> make_ofi_fabric() { return make_far_fabric(); }

std::shared_ptr<Fabric> make_spanning_fabric(const std::string& node) {
  return std::make_shared<composite::CompositeFabric>(std::make_shared<shm::ShmFabric>(node),
                                                      make_far_fabric());
}

std::shared_ptr<Fabric> process_fabric(const std::string& name) {
  if (auto fabric = default_fabric(name)) return fabric;
  return keep_default_fabric(make_fabric(name));
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

// The fabrics that there are, and what users do with one.
#include "comm/fabrics.h"

#include "fabric/composite/composite_fabric.h"
#include "fabric/mpi/abi.h"
#include "fabric/mpi/find.h"
#include "fabric/mpi/mpi_fabric.h"
#include "fabric/process.h"
#include "fabric/shm/shm_fabric.h"
#include "fabric/shmem/library.h"
#include "fabric/shmem/shmem_fabric.h"
#include "weft/communicator.h"
#include "weft/error.h"
#if WEFT_OFI
#include "fabric/ofi/ofi_fabric.h"
#endif

namespace weft {

std::shared_ptr<Fabric> make_shm_fabric() { return std::make_shared<shm::ShmFabric>(); }

namespace {

std::shared_ptr<FarFabric> make_libfabric() {
#if WEFT_OFI
  return std::make_shared<ofi::OfiFabric>(ofi::choose_provider());
#else
  throw Unsupported(
      "ofi: this Weft was built without libfabric's headers (Debian, Ubuntu: libfabric-dev)");
#endif
}

// All ranks of a job make its fabric together. So no rank may make it a second time by itself, and
// it lives as long as the process. The one beside shared memory rings that one's bell, too.
template <typename JobFabric, bool kBesideSharedMemory>
const std::shared_ptr<FarFabric>& kept() {
  static const auto& made = *new std::shared_ptr<FarFabric>(std::make_shared<JobFabric>());
  return made;
}
template <typename JobFabric>
const std::shared_ptr<FarFabric>& of_the_job(bool beside) {
  return beside ? kept<JobFabric, true>() : kept<JobFabric, false>();
}

// Null: there is no far fabric of this name. `both`: it goes beside shared memory.
std::shared_ptr<FarFabric> make_far_fabric(std::string_view name, bool both) {
  if (name == "ofi") return make_libfabric();
  if (name == "mpi") return of_the_job<mpi::MpiFabric>(both);
  if (name == "shmem") return of_the_job<shmem::ShmemFabric>(both);
  return nullptr;
}

std::shared_ptr<Fabric> make_fabric(const std::string& name) {
  constexpr std::string_view beside = "shm+";
  const bool both = name.starts_with(beside);
  if (name == "shm") return make_shm_fabric();
  if (auto far = make_far_fabric(std::string_view(name).substr(both ? beside.size() : 0), both)) {
    if (!both) return far;
    // Memory allocated before, over shared memory, is symmetric here as well.
    return std::make_shared<composite::CompositeFabric>(process_fabric("shm"), std::move(far));
  }
  throw InvalidArgument("fabric \"" + name +
                        "\": give shm, ofi, mpi, shmem, or one of these beside shared memory: "
                        "shm+ofi, shm+mpi, shm+shmem");
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

FabricInfo shmem_info() {
  try {
    return {"shmem", true, shmem::find_library()};
  } catch (const Error& error) {
    return {"shmem", false, std::string("not usable, because ") + error.what()};
  }
}

std::shared_ptr<Fabric> make_ofi_fabric() { return make_libfabric(); }

std::shared_ptr<Fabric> make_spanning_fabric(const std::string& node) {
  return std::make_shared<composite::CompositeFabric>(std::make_shared<shm::ShmFabric>(node),
                                                      make_libfabric());
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

// A communicator of the members of one of the program's MPI communicators.
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "comm/mpi_store.h"
#include "fabric/composite/composite_fabric.h"
#include "fabric/mpi/find.h"
#include "fabric/mpi/library.h"
#include "fabric/mpi/mpi_fabric.h"
#include "weft/communicator.h"
#include "weft/error.h"

namespace weft {
namespace {

// The program may have loaded its MPI after Weft had loaded another.
const mpi::Mpi& programs_library() {
  (void)mpi::find_library();  // throws if there are two
  return mpi::library();
}

mpi::Comm check(const mpi::Mpi& mpi, std::uintptr_t handle) {
  const std::lock_guard lock(mpi::library_mutex());
  const mpi::Comm comm = mpi.comm_of(handle);
  if (mpi.is_inter(comm))
    throw InvalidArgument(
        "mpi: the communicator is between two groups of ranks: merge them (MPI_Intercomm_merge, in "
        "mpi4py comm.Merge())");
  return comm;
}

// Waits for all members, with the library's mutex only where MPI takes one thread at a time.
template <typename Make>
auto together(const mpi::Mpi& mpi, Make make) {
  std::unique_lock lock(mpi::library_mutex(), std::defer_lock);
  if (mpi.query_thread() < mpi::Level::kMultiple) lock.lock();
  return make();
}

std::vector<int> ranks_in_world(const mpi::Mpi& mpi, mpi::Comm comm) {
  const std::lock_guard lock(mpi::library_mutex());
  mpi::Group members = mpi.group(comm), all = mpi.group(mpi.world());
  std::vector<int> ranks = mpi.translate(members, all);
  mpi.free(members);
  mpi.free(all);
  return ranks;
}

// Kept for the members' next communicator, as MPI's own communicators are few. All members make it
// together, so all have it or none.
struct Kept {
  std::mutex mutex;  // held while the members make it
  std::shared_ptr<mpi::MpiFabric> mpi;
  std::weak_ptr<Fabric> beside_shm;
};

Kept& kept_for(const std::string& name, const std::vector<int>& ranks) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<std::pair<std::string, std::vector<int>>, Kept>;
  const std::lock_guard lock(mutex);
  return all[{name, ranks}];
}

// By the name of the fabric, and the members. Null: one of the process.
std::shared_ptr<Fabric> fabric_for(const std::string& name, const mpi::Mpi& mpi, mpi::Comm comm) {
  if (name.ends_with("shmem"))
    throw Unsupported("fabric \"" + name +
                      "\" is over all ranks of the job together: make the "
                      "communicator by weft.init, or give another fabric");
  if (name != "mpi" && name != "shm+mpi") return nullptr;
  Kept& kept = kept_for(name, ranks_in_world(mpi, comm));
  const std::lock_guard lock(kept.mutex);
  if (!kept.mpi) kept.mpi = std::make_shared<mpi::MpiFabric>(mpi, comm);
  if (name == "mpi") return kept.mpi;
  std::shared_ptr<Fabric> both = kept.beside_shm.lock();
  if (!both) both = std::make_shared<composite::CompositeFabric>(process_fabric("shm"), kept.mpi);
  kept.beside_shm = both;
  return both;
}

}  // namespace

std::shared_ptr<Communicator> Communicator::from_mpi(std::uintptr_t handle,
                                                     CommunicatorOptions options) {
  const mpi::Mpi& mpi = programs_library();
  const mpi::Comm theirs = check(mpi, handle);
  const mpi::Comm own = together(mpi, [&] { return mpi.copy(theirs); });
  if (options.fabric_name.empty()) options.fabric_name = Environment::read().fabric;
  if (!options.fabric) options.fabric = fabric_for(options.fabric_name, mpi, own);
  const auto store = std::make_shared<MpiStore>(mpi, own, options.interrupt);
  auto made = create(store, store->rank(), store->size(), std::move(options));
  store->close();
  return made;
}

}  // namespace weft

#include "fabric/mpi/mpi_fabric.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "fabric/mpi/library.h"
#include "fabric/mpi/mpi_lines.h"

namespace weft::mpi {
namespace {

// Weft's own communicator, so that no receive of the program takes Weft's mail.
Comm own_communicator(const Mpi& mpi, Comm of) {
  const Comm comm = mpi.copy(of);
  mpi.return_errors(comm);
  return comm;
}

mail::Job join(const Mpi& mpi, Comm comm) {
  Token token = Token::random();  // rank 0's
  Request request = mpi.ibcast(token.bytes.data(), token.bytes.size(), mpi.bytes(), 0, comm);
  mpi.wait(request);
  return {token, mpi.rank(comm)};
}

}  // namespace

struct MpiFabric::Joined {
  Joined(const Mpi& its, Comm of)
      : mpi(its), lock(library_mutex(), std::defer_lock), comm(joined(of)) {}
  // Other threads go on meanwhile, if MPI lets them.
  Comm joined(Comm of) {
    if (mpi.query_thread() < Level::kMultiple) lock.lock();
    return own_communicator(mpi, of);
  }

  const Mpi& mpi;
  std::unique_lock<std::mutex> lock;  // until the fabric is made
  const Comm comm;
};

MpiFabric::MpiFabric() : MpiFabric(Joined(library(), library().world())) {
  finalise_together(natives_.comms()->parent);
}

MpiFabric::MpiFabric(const Mpi& mpi, Comm comm) : MpiFabric(Joined(mpi, comm)) {}

MpiFabric::MpiFabric(const Joined& joined)
    : MailFabric("mpi", "mpirun", join(joined.mpi, joined.comm),
                 std::make_unique<MpiLines>(joined.mpi, joined.comm)),
      natives_(joined.mpi, joined.comm, site()) {}

// MPI's collectives are for lanes whose members are all here.
std::unique_ptr<mail::NativeLane> MpiFabric::native_lane(const std::vector<int>& ranks) {
  if (std::ranges::count(ranks, -1) > 0) return nullptr;
  return std::make_unique<MpiNativeLane>(natives_.comms(), ranks);
}

}  // namespace weft::mpi

#include "fabric/mpi/mpi_fabric.h"

#include <memory>

#include "fabric/mpi/library.h"
#include "fabric/mpi/mpi_lines.h"

namespace weft::mpi {
namespace {

// Weft's own communicator, so that no receive of the program takes Weft's mail.
Comm own_communicator(const Mpi& mpi) {
  Group all = mpi.group(mpi.world());
  const Comm comm = mpi.create_group(mpi.world(), all, 0);
  mpi.free(all);
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
  const Mpi& mpi = library();
  const Comm comm = own_communicator(mpi);
};

MpiFabric::MpiFabric() : MpiFabric(Joined()) {}

MpiFabric::MpiFabric(const Joined& joined)
    : MailFabric("mpi", "mpirun", join(joined.mpi, joined.comm),
                 std::make_unique<MpiLines>(joined.mpi, joined.comm)) {}

}  // namespace weft::mpi

// MPI's own collectives as natives (fabric/natives.h): its functions that do not wait.
//
// Collectives that move data move any type. Those that reduce need a type of MPI's. An average or a
// premultiplied sum is MPI's sum, which is scaled afterwards. MPI does not compare the calls of the
// ranks: a difference is MPI's error, a wrong result or a timeout.
//
// One rank may give counts and another none, where the ranks do not know each other's. So gather,
// scatter and alltoall are always MPI's functions with a count for each rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/mail/site.h"
#include "fabric/mpi/native_comms.h"
#include "fabric/natives.h"

namespace weft::mpi {

class MpiNatives final : public Natives {
 public:
  // All ranks of the job's communicator `comm` together.
  MpiNatives(const Mpi& mpi, Comm comm, std::shared_ptr<mail::Site> site)
      : mpi_(mpi), site_(std::move(site)), comms_(std::make_shared<NativeComms>(mpi, comm)) {}

  const std::shared_ptr<NativeComms>& comms() const { return comms_; }

  // `lane`: a MailEndpoint.
  std::string obstacle(const Endpoint& lane, Collective collective, DType dtype,
                       ReduceOp op) const override;
  // Throws InvalidArgument for counts above 2^31 - 1.
  std::unique_ptr<NativeRun> begin(const NativeCall& call) override;

 private:
  const Mpi& mpi_;
  const std::shared_ptr<mail::Site> site_;
  const std::shared_ptr<NativeComms> comms_;
};

}  // namespace weft::mpi

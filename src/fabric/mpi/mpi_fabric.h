// MPI as a fabric: one rank a process, started by an MPI launcher. It serves any MPI-3 library
// (library.h). A rank that dies ends the job: MPI's launcher sees to that.
//
// Messages are MPI's point to point. Puts into windows are quicker inside one node, where Weft has
// shared memory. Between nodes MPI_Win_flush waits for the target to call MPI, and a fabric may not
// wait.
#pragma once

#include <memory>
#include <vector>

#include "fabric/mail/mail_fabric.h"
#include "fabric/mpi/natives.h"

namespace weft::mpi {

class MpiFabric final : public mail::MailFabric {
 public:
  // Over all ranks of the job, all of whom make one. Throws what library() throws.
  MpiFabric();
  // Over the members of the program's communicator `comm`, all of whom make one, and no other rank.
  // Their ranks are those in `comm`, which is left as it is.
  MpiFabric(const Mpi& mpi, Comm comm);

  Natives* natives() override { return &natives_; }

 private:
  std::unique_ptr<mail::NativeLane> native_lane(const std::vector<int>& ranks) override;

  struct Joined;
  explicit MpiFabric(const Joined& joined);

  MpiNatives natives_;
};

}  // namespace weft::mpi

// OpenSHMEM as a fabric: one rank a process, started by its launcher. It serves any library of
// OpenSHMEM 1.4 (library.h). A PE that dies ends the job: the launcher sees to that.
#pragma once

#include <memory>
#include <vector>

#include "fabric/mail/mail_fabric.h"
#include "fabric/shmem/natives.h"

namespace weft::shmem {

struct Process;

class ShmemFabric final : public mail::MailFabric {
 public:
  // Over all PEs of the job, all of whom make one. Throws what process() throws.
  ShmemFabric();

  Natives* natives() override { return &natives_; }

  // Slots lie in the symmetric heap, so that PEs of one node load them. Users' memory does not.
  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override;
  void release(const SymmetricBlock& block) override;

 private:
  explicit ShmemFabric(const Process& process);

  std::unique_ptr<mail::NativeLane> native_lane(const std::vector<int>& ranks) override;

  const Process& process_;
  ShmemNatives natives_;
};

}  // namespace weft::shmem

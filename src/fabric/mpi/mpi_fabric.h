// MPI as a fabric: one rank a process, started by an MPI launcher. It serves any MPI-3 library
// (library.h). A rank that dies ends the job: MPI's launcher sees to that.
//
// Messages are MPI's point to point, with the source named. Puts into windows are quicker inside
// one node, where Weft has shared memory. Between nodes MPI_Win_flush waits for the target to call
// MPI, and a fabric may not wait.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/endpoint.h"
#include "fabric/process.h"
#include "fabric/token.h"

namespace weft::mpi {

class MpiFabric final : public Fabric {
 public:
  // Over all ranks of the job, all of whom make one. Throws what library() throws.
  MpiFabric();
  ~MpiFabric() override;

  std::string_view name() const override { return "mpi"; }
  bool inherited() const override { return mark_.forked(); }
  std::string address() const override;
  std::string obstacle(const std::string& address) const override;
  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point deadline) override;

  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override;
  void release(const SymmetricBlock& block) override;
  Location locate(const void* data, std::size_t bytes) const override;
  bool isolate(void* data, std::size_t bytes) override;

  // MPI rings no bell: who sleeps looks for messages every 50 us.
  std::uint32_t announce() override { return weft::announce(site_->doorbell); }
  void sleep(std::uint32_t announced) override;
  void retire() override { weft::retire(site_->doorbell); }
  void ring() override { weft::ring(site_->doorbell); }

 private:
  struct Address;
  Address own() const;

  const ForkMark mark_;
  const Token enrolled_;
  Token job_;
  int rank_ = 0;
  std::shared_ptr<Site> site_;
};

}  // namespace weft::mpi

// OpenSHMEM's own collectives as natives (fabric/natives.h): sum_to_all and its kin, broadcast,
// collect, alltoall, barrier.
//
// They block, without a deadline, and need symmetric memory at the same place on all PEs. So a
// process does one at a time, in the order in which they were begun. A member first says that it
// has come. When all have, each runs the function, piece by piece through the common place of the
// heap, and holds the lock of the library meanwhile. Ranks that begin two of them in different
// orders wait for each other until their timeouts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/mail/native_lane.h"
#include "fabric/mail/site.h"
#include "fabric/natives.h"
#include "fabric/shmem/process.h"

namespace weft::shmem {

// Which members have come, and how OpenSHMEM names them. Calls hold the mutex of the library.
class ShmemNativeLane final : public mail::NativeLane {
 public:
  ShmemNativeLane(const Process& process, std::vector<int> pes)
      : process_(process), pes_(std::move(pes)), set_(active_set(pes_)) {}

  std::string offer() const override { return {}; }
  bool agrees_together() const override { return false; }
  void agree(const std::vector<std::string>& tickets) override;

  // Empty: OpenSHMEM's collectives cannot run among these PEs.
  const std::optional<ActiveSet>& set() const { return set_; }
  // This member has come to its next collective. Its number.
  std::uint64_t come();
  // Whether all have come to that.
  bool all_have_come(std::uint64_t number) const;

 private:
  std::uint64_t* count(std::size_t lane_of, std::size_t member) const;

  const Process& process_;
  const std::vector<int> pes_;
  const std::optional<ActiveSet> set_;
  std::size_t me_ = 0;
  std::vector<std::uint64_t> numbers_;  // the lane's, at each member
  std::uint64_t calls_ = 0;
};

class ShmemNatives final : public Natives {
 public:
  ShmemNatives(const Process& process, std::shared_ptr<mail::Site> site)
      : process_(process), site_(std::move(site)) {}

  // `lane`: a MailEndpoint.
  std::string obstacle(const Endpoint& lane, Collective collective, DType dtype,
                       ReduceOp op) const override;
  // Throws Unsupported for blocks of an alltoall that differ.
  std::unique_ptr<NativeRun> begin(const NativeCall& call) override;

 private:
  const Process& process_;
  const std::shared_ptr<mail::Site> site_;
  // Runs that have begun. Only the first may come to its members, since all use the common place.
  const std::shared_ptr<std::deque<const NativeRun*>> turns_ =
      std::make_shared<std::deque<const NativeRun*>>();
};

}  // namespace weft::shmem

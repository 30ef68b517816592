// The communicators on which MPI's own collectives run: one for each lane, as far as they go.
//
// None is ever freed. MPI_Comm_free is collective, and a member may have died or may never come
// back. A lane that ends gives its communicator back. A later lane of the same members takes it if
// every member has it back, and if all have begun as many collectives on it. The members see this
// in their tickets, so they decide alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/mail/native_lane.h"
#include "fabric/mpi/mpi.h"
#include "fabric/process.h"

namespace weft::mpi {

struct NativeComm {
  std::vector<int> ranks;  // of the members, in the job's communicator
  std::uint64_t mark = 0;  // by which its members know it; from 1
  Comm comm{};
  std::uint64_t begun = 0;  // collectives on it
  std::uint64_t ended = 0;  // of these, well
  bool taken = true;        // by a lane

  bool quiet() const { return begun == ended; }
};

// What a member says of itself in its ticket.
struct NativeOffer {
  std::uint64_t mark = 0;   // of a communicator that it has for these members; 0: of none
  std::uint64_t begun = 0;  // collectives on it
  std::uint64_t next = 0;   // the mark of a new one, if this member is the first
  bool room = false;        // whether it could make a new one

  std::string text() const;
  // From the end of a ticket. A member that shares memory with some of the others, and reaches only
  // the rest over MPI, offers nothing. Throws InvalidArgument naming the member at `place`.
  static NativeOffer parse(const std::string& ticket, std::size_t place);
};

// All of a fabric's. Thread safe.
class NativeComms {
 public:
  // MPICH has about 2,000 communicators for a process, and the program needs some.
  static constexpr std::size_t kMost = 512;

  // All ranks of `comm` together.
  NativeComms(const Mpi& mpi, Comm comm);

  const Mpi& mpi;
  const Comm parent;  // of all ranks; its tags are for making others

  // For a lane of these members: takes a communicator that was given back, if there is one, and
  // keeps room for a new one. `kept`: what was taken; null: nothing.
  NativeOffer offer(const std::vector<int>& ranks, std::shared_ptr<NativeComm>& kept);
  // The lane has decided about its offer.
  void settle(const NativeOffer& offer);
  std::shared_ptr<NativeComm> add(std::vector<int> ranks, std::uint64_t mark, Comm comm);
  // It can be taken again, unless a collective has not ended on it.
  void give_back(const std::shared_ptr<NativeComm>& comm);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<NativeComm>> comms_;
  std::size_t promised_ = 0;  // to offers with room
  std::uint64_t marks_ = 0;   // given so far
};

// A lane's communicator. One thread at a time.
class MpiNativeLane final : public mail::NativeLane {
 public:
  // `ranks`: of the members in the job's communicator.
  MpiNativeLane(std::shared_ptr<NativeComms> comms, std::vector<int> ranks);
  ~MpiNativeLane() override;
  MpiNativeLane(const MpiNativeLane&) = delete;

  std::string offer() const override { return offer_.text(); }
  bool agrees_together() const override { return true; }
  // With less than MPI_THREAD_MULTIPLE it holds the library's mutex while it waits.
  void agree(const std::vector<std::string>& tickets) override;
  // Since agree(). Null: the members have too many communicators.
  const std::shared_ptr<NativeComm>& comm() const { return comm_; }

 private:
  Comm make(std::uint64_t mark) const;
  void drop();

  const ForkMark mark_;
  const std::shared_ptr<NativeComms> comms_;
  const std::vector<int> ranks_;
  std::shared_ptr<NativeComm> comm_;
  const NativeOffer offer_;
  bool offered_ = true;
};

}  // namespace weft::mpi

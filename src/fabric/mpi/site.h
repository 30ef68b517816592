// What the lanes of one rank share: the communicator, the lock around MPI, the numbers of lanes.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/doorbell.h"
#include "fabric/mpi/lane.h"
#include "fabric/segments.h"

namespace weft::mpi {

// Thread safe. Weft calls MPI by one thread at a time, for which MPI_THREAD_SERIALIZED is enough.
class Site final : public Forkable {
 public:
  // `comm`: Weft's own, never freed.
  Site(const Mpi& mpi, Comm comm) : mpi(mpi), comm(comm) {}
  ~Site() override;

  // Throws Unsupported if too many lanes are open.
  std::shared_ptr<Lane> open(std::vector<int> ranks, int me);
  // The lane's user is gone. Its peers hear of it; it is kept until they have left as well.
  void close(const std::shared_ptr<Lane>& lane);
  // Whether anything had come for any lane.
  bool progress();

  void lock_for_fork() override { segments.lock_for_fork(); }
  void unlock_after_fork() override { segments.unlock_after_fork(); }
  void detach_in_child() override { segments.detach_in_child(); }

  const Mpi& mpi;
  const Comm comm;
  Segments segments;
  Doorbell doorbell{};
  std::mutex mutex;  // of MPI, and of all lanes

 private:
  void drop_those_that_are_over();

  std::vector<std::shared_ptr<Lane>> lanes_;   // by number; null: the number is free
  std::vector<std::shared_ptr<Lane>> closed_;  // of these
};

}  // namespace weft::mpi

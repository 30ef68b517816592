#include "fabric/mpi/site.h"

#include <algorithm>
#include <thread>

#include "weft/error.h"

namespace weft::mpi {

// Peers that still use a lane find out that this rank has left: MPI has the farewells within the
// second. Receives that are open by then do MPI no harm.
Site::~Site() {
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  while (!closed_.empty() && closed_.front()->may_call() && Clock::now() < deadline) {
    {
      std::lock_guard lock(mutex);
      drop_those_that_are_over();
    }
    std::this_thread::yield();
  }
}

std::shared_ptr<Lane> Site::open(std::vector<int> ranks, int me) {
  std::lock_guard lock(mutex);
  drop_those_that_are_over();
  const auto place = std::ranges::find(lanes_, nullptr);
  const auto number = static_cast<int>(place - lanes_.begin());
  if (number >= kMostLanes)
    throw Unsupported("mpi: " + std::to_string(kMostLanes) +
                      " lanes are open: destroy communicators that are no longer used");
  auto lane = std::make_shared<Lane>(mpi, comm, std::move(ranks), me, number);
  if (place == lanes_.end())
    lanes_.push_back(lane);
  else
    *place = lane;
  return lane;
}

void Site::close(const std::shared_ptr<Lane>& lane) {
  std::lock_guard lock(mutex);
  lane->say_farewell();
  closed_.push_back(lane);
  drop_those_that_are_over();
}

bool Site::progress() {
  std::lock_guard lock(mutex);
  bool any = false;
  for (const auto& lane : lanes_) any = (lane && lane->progress()) || any;
  drop_those_that_are_over();
  return any;
}

void Site::drop_those_that_are_over() {
  std::erase_if(closed_, [&](const std::shared_ptr<Lane>& lane) {
    if (!lane->is_over()) return false;
    lanes_[static_cast<std::size_t>(lane->number())] = nullptr;
    return true;
  });
}

}  // namespace weft::mpi

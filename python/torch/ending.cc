#include "ending.h"

#include <chrono>
#include <mutex>
#include <vector>

#include "completion_pool.h"
#include "per_process.h"

namespace weft::torch_adapter {

namespace {

constexpr std::chrono::seconds kPatience(5);

struct Known {
  std::mutex mutex;
  std::vector<std::weak_ptr<Communicator>> communicators;
};

std::vector<std::shared_ptr<Communicator>> alive() {
  std::lock_guard lock(PerProcess<Known>::get().mutex);
  std::vector<std::shared_ptr<Communicator>> all;
  for (const auto& known : PerProcess<Known>::get().communicators)
    if (auto communicator = known.lock()) all.push_back(std::move(communicator));
  return all;
}

}  // namespace

void settle_at_the_end(const std::shared_ptr<Communicator>& communicator) {
  std::lock_guard lock(PerProcess<Known>::get().mutex);
  std::erase_if(PerProcess<Known>::get().communicators,
                [](const auto& known) { return known.expired(); });
  PerProcess<Known>::get().communicators.push_back(communicator);
}

void end_of_program() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  // Twice: a callback may have started another operation.
  for (int round = 0; round < 2; ++round) {
    for (const auto& communicator : alive()) communicator->settle(deadline);
    CompletionPool::instance().drain(deadline + kPatience);  // also of what was aborted then
  }
}

}  // namespace weft::torch_adapter

// A thread's blocks of operations: coalescing, and estimates of time.
#include <utility>

#include "gil.h"
#include "process_group.h"

namespace weft::torch_adapter {

namespace {

constexpr Operation kEstimate{c10d::OpType::UNKNOWN, "weft:time_estimate"};

}  // namespace

// References to a map's values hold until they are erased, and only its own thread uses one.
ProcessGroupWeft::Block* ProcessGroupWeft::own_block() {
  // relaxed: a thread always sees the block that it has opened itself.
  if (open_blocks_.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard lock(mutex_);
  const auto it = blocks_.find(std::this_thread::get_id());
  return it == blocks_.end() ? nullptr : &it->second;
}

ProcessGroupWeft::Block& ProcessGroupWeft::open_block() {
  std::lock_guard lock(mutex_);
  const auto [it, is_new] = blocks_.try_emplace(std::this_thread::get_id());
  if (is_new) open_blocks_.fetch_add(1, std::memory_order_relaxed);
  return it->second;
}

void ProcessGroupWeft::close_block(const Block& block) {
  if (block.coalescing || block.estimating) return;
  std::lock_guard lock(mutex_);
  blocks_.erase(std::this_thread::get_id());
  open_blocks_.fetch_sub(1, std::memory_order_relaxed);
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::note(Block& block, const Operation& operation, Job job,
                                                 const Tensors& inputs, const Tensors& outputs,
                                                 bool async) {
  if (block.estimating) {
    std::unique_lock lock(mutex_);
    const auto costs = costs_;
    lock.unlock();
    block.microseconds += costs->of(job, *main_communicator(site(operation)));
  } else {
    block.job.append(std::move(job));
    block.inputs.insert(block.inputs.end(), inputs.begin(), inputs.end());
    block.outputs.insert(block.outputs.end(), outputs.begin(), outputs.end());
  }
  if (block.coalescing || !async) return nullptr;
  auto nothing = c10::make_intrusive<WorkWeft>(group_, operation, sequence_, inputs, outputs, Job(),
                                               std::weak_ptr<Communicator>());
  nothing->started();
  return nothing;
}

void ProcessGroupWeft::startCoalescing() { open_block().coalescing = true; }

ProcessGroupWeft::WorkPtr ProcessGroupWeft::endCoalescing() {
  return translating([&]() -> WorkPtr {
    Block* const block = own_block();
    if (!block || !block->coalescing)
      refuse(site(kCoalesced), "this thread has not started coalescing");
    block->coalescing = false;
    Block noted;
    std::swap(noted.job, block->job);
    std::swap(noted.inputs, block->inputs);
    std::swap(noted.outputs, block->outputs);
    std::swap(noted.failure, block->failure);
    close_block(*block);
    if (noted.failure) std::rethrow_exception(noted.failure);
    return start(kCoalesced, std::move(noted.job), noted.inputs, noted.outputs, kNoTimeout, true);
  });
}

void ProcessGroupWeft::start_time_estimate() {
  translating([&] {
    std::unique_lock lock(mutex_);
    if (!costs_) {
      lock.unlock();
      main_communicator(site(kEstimate));  // not shut down
      const auto apart = make_communicator(" time estimates");
      WithoutGil blocking;
      auto costs = std::make_shared<const Costs>(Costs::measured(*apart));
      lock.lock();
      costs_ = std::move(costs);
    }
  });
  Block& block = open_block();
  block.estimating = true;
  block.microseconds = 0;
}

double ProcessGroupWeft::end_time_estimate() {
  Block* const block = own_block();
  if (!block || !block->estimating)
    refuse(site(kEstimate), "this thread has not started an estimate");
  block->estimating = false;
  const double microseconds = block->microseconds;
  close_block(*block);
  return microseconds;
}

}  // namespace weft::torch_adapter

#include "engine/lane.h"

#include <thread>
#include <utility>

#include "weft/error.h"

namespace weft {

Lane::Lane(std::shared_ptr<Engine> engine, std::unique_ptr<Endpoint> endpoint, int me, int members,
           std::shared_ptr<Fate> fate, std::function<void()> interrupt, int priority)
    : Driven(priority),
      engine_(std::move(engine)),
      endpoint_(std::move(endpoint)),
      me_(me),
      members_(members),
      fate_(std::move(fate)),
      interrupt_(std::move(interrupt)),
      state_(*endpoint_, members) {
  fate_->add(endpoint_.get());
  engine_->attach(this);
}

Lane::~Lane() {
  engine_->detach(this);
  fate_->remove(endpoint_.get());
  engine_->arenas().leave(*this);
  if (!state_.slots.leased()) return;
  // A peer may still be at the end of its last store.
  const auto until = Clock::now() + std::chrono::milliseconds(10);
  bool idle = state_.slots.idle(*endpoint_);
  while (!idle && state_.slots.read(*endpoint_) && Clock::now() < until) {
    std::this_thread::yield();
    idle = state_.slots.idle(*endpoint_);
  }
  engine_->arenas().give_back(state_.slots.release(), idle);
}

[[gnu::hot]] inline void Lane::begin(Binding& binding, std::uint64_t sequence) {
  binding.signature.sequence = static_cast<std::uint32_t>(sequence);
  std::byte* const input = binding.copies_input ? scratch_.copy_input(binding) : binding.user[0];
  endpoint_->begin(sequence, written_by_peers(binding));
  if (binding.uses_slots && members_ > 1 && !state_.slots.leased())
    state_.slots.lease(engine_->arenas().lease(this));
  run_.start(binding, state_, me_, input);
}

SymmetricBlock Lane::give_idle() {
  if (!try_own_idle()) return {};
  Release at_end{this};
  if (fate_->ended(*endpoint_) || !state_.slots.idle(*endpoint_)) return {};
  return state_.slots.release();
}

[[gnu::hot]] void Lane::run_now(Binding& binding, std::chrono::milliseconds timeout) {
  std::uint64_t sequence = count();
  try {
    begin(binding, sequence);
    if (run_.advance()) return;
    auto deadline = Clock::now() + timeout;
    Patience patience(*engine_->fabric(), engine_->crowded(), interrupt_);
    while (!run_.advance()) {
      if (patience.asks() && run_.went()) patience.moved();
      if (patience.relax() || endpoint_->troubled())
        examine(run_, *endpoint_, me_, members_, sequence, deadline, timeout);
    }
  } catch (...) {
    std::rethrow_exception(fail(binding));
  }
}

// A peer that failed first tells why, then takes its memory away: of both, the first counts.
std::exception_ptr Lane::fail(const Binding& binding) {
  std::string aborted = endpoint_->why_aborted();
  fate_->end(aborted.empty() ? reason(std::current_exception(), me_) : aborted);
  stop_peer_writes(*endpoint_, *engine_->fabric(), {&binding});
  try {
    throw;
  } catch (const PeerLost&) {
    if (!aborted.empty()) return std::make_exception_ptr(Aborted(aborted));
  } catch (...) {
  }
  return std::current_exception();
}

// The caller's buffers are in use until it has finished, so an interrupted wait ends all.
void Lane::finish(const Request& request) {
  try {
    request.wait();
  } catch (...) {
    if (!request.test()) {
      fate_->end(reason(std::current_exception(), me_));
      engine_->drive_until([&] { return request.test(); }, Clock::time_point::max(), {});
    }
    throw;
  }
}

Request Lane::submit(const Binding& binding, std::chrono::milliseconds timeout, bool wake) {
  fate_->check(*endpoint_);
  auto task = std::make_unique<Task>();
  task->binding = binding;
  task->state = std::make_shared<Request::State>(engine_, timeout, interrupt_);
  task->deadline = Clock::now() + timeout;
  Request request(task->state);
  {
    std::lock_guard lock(mutex_);
    queued_.fetch_add(1, std::memory_order_release);
    queue_.push_back(std::move(task));
  }
  engine_->queued(wake);
  return request;
}

bool Lane::step(bool look, Pace pace, Finished& finished) {
  if (!pending() || !try_own()) return false;
  bool moved = false;
  Task* task = nullptr;
  try {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (queue_.empty()) break;
        task = queue_.front().get();
      }
      fate_->check();
      if (!task->started) {
        fate_->check(*endpoint_);
        task->sequence = count();
        begin(task->binding, task->sequence);
        task->started = moved = true;
      }
      if (!run_.advance(pace)) {
        if (run_.went()) engine_->note_progress();
        moved |= run_.paused();
        if (!run_.paused() && (look || endpoint_->troubled()))
          examine(run_, *endpoint_, me_, members_, task->sequence, task->deadline,
                  task->state->timeout);
        break;
      }
      finish_front(nullptr, finished);
      moved = true;
      if (pace == Pace::kOneTrip) break;
    }
  } catch (...) {
    fail_all(fail(task->binding), finished);
    moved = true;
  }
  release();
  return moved;
}

void Lane::finish_front(std::exception_ptr error, Finished& finished) {
  std::lock_guard lock(mutex_);
  finished.push_back([state = queue_.front()->state, error] { state->finish(error); });
  queue_.pop_front();
  queued_.fetch_sub(1, std::memory_order_release);
}

void Lane::fail_all(std::exception_ptr error, Finished& finished) {
  finish_front(std::move(error), finished);
  auto aborted = std::make_exception_ptr(Aborted(fate_->why()));
  while (pending()) finish_front(aborted, finished);
}

bool Lane::drained() {
  if (fate_->ended(*endpoint_)) return true;
  if (!try_own_idle()) return false;
  Release at_end{this};
  return state_.slots.read(*endpoint_);
}

}  // namespace weft

#include "engine/engine.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/placement.h"

namespace weft {

namespace {

// Longer than a peer's chunk, shorter than a time slice. In time, since a look at a network is a
// system call.
constexpr std::chrono::microseconds kSpins{50};
// If ranks share cores, a turn comes back within some yields; to be woken costs two changes of
// process more, and across hosts the driver's thread as well.
constexpr int kYields = 500;
constexpr int kLookEvery = 256;
constexpr std::chrono::milliseconds kInterruptEvery{20};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` does nothing on cores without hardware threads; this refetches and so passes time, as
  // x86's pause does.
  asm volatile("isb");
#endif
}

}  // namespace

bool Patience::relax() {
  bool look = wait();
  if (look && interrupt_) interrupt();
  return look;
}

void Patience::interrupt() {
  auto now = Clock::now();
  if (interrupted_ == Clock::time_point{}) interrupted_ = now;
  if (now - interrupted_ < kInterruptEvery) return;
  interrupted_ = now;
  interrupt_();
}

bool Patience::spins() {
  if (crowded_ || yields_ > 0) return false;
  if (++idle_ % kClockEvery != 0) return true;
  const auto now = Clock::now();
  if (idle_ == kClockEvery) idle_since_ = now;
  return now - idle_since_ < kSpins;
}

bool Patience::wait() {
  const bool look = ++turns_ % kLookEvery == 0;
  if (spins()) {
    pause();
    return look;
  }
  if (++yields_ <= kYields) {
    sched_yield();
    return look;
  }
  if (!announced_) {
    bell_ = fabric_.announce();
    announced_ = true;
    return false;  // the caller looks once more
  }
  announced_ = false;
  fabric_.sleep(bell_);
  return true;
}

Engine::Engine(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)), arenas_(fabric_) {}

Engine::~Engine() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  fabric_->ring();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Engine> Engine::of(const std::shared_ptr<Fabric>& fabric) {
  static std::mutex mutex;
  static std::map<const Fabric*, std::weak_ptr<Engine>> engines;
  std::lock_guard lock(mutex);
  std::erase_if(engines, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<Engine> engine = engines[fabric.get()].lock();
  if (!engine) engines[fabric.get()] = engine = {new Engine(fabric), dispose};
  return engine;
}

// A callback may drop the last reference on the progress thread, which cannot join itself.
void Engine::dispose(Engine* engine) {
  if (engine->thread_.get_id() == std::this_thread::get_id())
    std::thread([engine] { delete engine; }).detach();
  else
    delete engine;
}

Worker Engine::employ(const Worker& worker) {
  std::lock_guard lock(mutex_);
  if (!worker_) worker_ = worker;
  has_worker_.store(worker_->exists, std::memory_order_relaxed);
  return *worker_;
}

void Engine::attach(Driven* driven) {
  std::lock_guard lock(driving_);
  turns_.attach(driven);
}

void Engine::detach(Driven* driven) {
  std::lock_guard lock(driving_);
  turns_.detach(driven);
}

void Engine::queued(bool wake) {
  {
    std::lock_guard lock(mutex_);
    work_ = true;
    if (!wake || !has_worker()) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    if (waiters_ > 0) return;
  }
  wake_.notify_one();
  fabric_->ring();
}

bool Engine::drive(bool look, bool& driven_by_other) {
  Driven::Finished finished;
  bool moved = false;
  {
    std::unique_lock lock(driving_, std::try_to_lock);
    driven_by_other = !lock.owns_lock();
    if (driven_by_other) return false;
    moved = turns_.step(look, turns_.timed() ? Clock::now() : Clock::time_point{}, finished);
    if (finished.empty()) return moved;
    ++finishing_;
  }
  for (auto& callback : finished) callback();
  // A thread that sleeps for one of these wakes at the doorbell.
  fabric_->ring();
  std::lock_guard lock(driving_);
  --finishing_;
  return moved;
}

bool Engine::quiet(std::initializer_list<const Driven*> driven) {
  std::lock_guard lock(driving_);
  return finishing_ == 0 &&
         std::none_of(driven.begin(), driven.end(), [](const Driven* d) { return d->pending(); });
}

// While one exists the progress thread leaves the work to the waiting threads.
class Engine::Waiter {
 public:
  explicit Waiter(Engine& engine) : engine_(engine) {
    std::lock_guard lock(engine_.mutex_);
    ++engine_.waiters_;
  }
  ~Waiter() {
    {
      std::lock_guard lock(engine_.mutex_);
      --engine_.waiters_;
    }
    engine_.wake_.notify_one();
  }
  Waiter(const Waiter&) = delete;

 private:
  Engine& engine_;
};

bool Engine::drive_until(const std::function<bool()>& done, Clock::time_point deadline,
                         const std::function<void()>& interrupt) {
  Waiter waiter(*this);
  Patience patience(*fabric_, crowded(), interrupt);
  bool look = false, other = false;
  unsigned moves = 0, seen = progress_.load(std::memory_order_relaxed);
  while (!done()) {
    if (drive(look, other)) {
      patience.moved();
      look = ++moves % kLookEvery == 0;
      continue;
    }
    if (done()) break;
    if (other) {  // which may have passed our lane by: that is no time to sleep
      sched_yield();
    } else {
      const unsigned now = progress_.load(std::memory_order_relaxed);
      if (patience.asks() && now != std::exchange(seen, now)) patience.moved();
      look = patience.relax();
    }
    if ((look || other) && Clock::now() > deadline) return false;
  }
  return true;
}

void Engine::expect_crowd() {
  crowded_.store(true, std::memory_order_relaxed);
  fabric_->expect_crowd();
}

void Engine::poll() {
  bool other = false;
  if (!has_worker()) (void)drive(true, other);
}

void Engine::loop() {
  const Worker worker = worker_.value_or(Worker{});
  // It was possible when the engine got the worker. If the process may no longer run there, the
  // system chooses, as it does for threads that it has already bound.
  (void)place_this_thread("weft-worker", worker.cores, worker.nice);
  const std::function<void()> uninterrupted;
  Patience patience(*fabric_, crowded(), uninterrupted);
  bool look = false, other = false;
  unsigned moves = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!stop_ && (!work_ || waiters_ > 0)) {
        patience.moved();
        wake_.wait(lock, [this] { return stop_ || (work_ && waiters_ == 0); });
      }
      if (stop_) return;
    }
    if (drive(look, other)) {
      patience.moved();
      look = ++moves % kLookEvery == 0;
      continue;
    }
    if (other) {
      sched_yield();
      continue;
    }
    {
      // Both locks: nothing is queued between looking and forgetting.
      std::scoped_lock lock(driving_, mutex_);
      if (!turns_.pending()) {
        work_ = false;
        continue;
      }
    }
    look = patience.relax();
  }
}

}  // namespace weft

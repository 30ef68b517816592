// Drives everything in flight: a progress thread (the worker) for each rank, and every thread that
// waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/slots.h"
#include "engine/turns.h"
#include "fabric/fabric.h"

namespace weft {

// How a thread waits: spins a little, yields, then sleeps at the fabric's doorbell. Not at
// all spinning where ranks outnumber cores. One thread.
class Patience {
 public:
  // `interrupt`: see CommunicatorOptions; must outlive this.
  Patience(Fabric& fabric, bool crowded, const std::function<void()>& interrupt)
      : fabric_(fabric), crowded_(crowded), interrupt_(interrupt) {}
  ~Patience() { moved(); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // Nothing could go. True when it is time to look at clocks and peers. Throws what `interrupt`
  // throws.
  bool relax();
  // Whether it matters now if a part of something went, which takes time to find out. It does not
  // where ranks share cores: a rank that waits again then gives its core away sooner.
  bool asks() const { return idle_ > 0 && idle_ % kClockEvery == 0; }
  // Something went.
  void moved() {
    if (announced_) fabric_.retire();
    announced_ = false;
    idle_ = yields_ = 0;
  }

 private:
  static constexpr int kClockEvery = 8;
  bool wait();
  bool spins();
  void interrupt();

  Fabric& fabric_;
  const bool crowded_;
  const std::function<void()>& interrupt_;
  Clock::time_point interrupted_{};  // when last called
  bool announced_ = false;
  std::uint32_t bell_ = 0;
  unsigned turns_ = 0;         // of wait()
  int idle_ = 0, yields_ = 0;  // since something went
  Clock::time_point idle_since_{};
};

// The progress thread: whether there is one, and where it runs.
struct Worker {
  bool exists = true;
  std::vector<int> cores = {};   // processors; empty: as the thread that starts it
  std::optional<int> nice = {};  // not set: the same
};

// One rank's engine, shared by its communicators. Thread safe.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Fabric> fabric);
  // Requires that nothing is attached.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The engine of a fabric, made when first asked for.
  static std::shared_ptr<Engine> of(const std::shared_ptr<Fabric>& fabric);

  const std::shared_ptr<Fabric>& fabric() const { return fabric_; }
  ArenaPool& arenas() { return arenas_; }

  // The first call says what the worker is like. Without one it is Worker{}. To be called before
  // anything is attached. Returns the worker that the engine has.
  Worker employ(const Worker& worker);
  // False: only threads that wait drive.
  bool has_worker() const { return has_worker_.load(std::memory_order_relaxed); }

  void attach(Driven* driven);
  // When it returns no thread is in, or will enter, driven->step().
  void detach(Driven* driven);

  // Something was queued. With `wake` the progress thread, if there is one, takes it; without, the
  // caller promises to wait for it.
  void queued(bool wake);

  // Drives everything until `done()`. False: the deadline passed first. Any thread, the
  // progress thread in a callback too.
  bool drive_until(const std::function<bool()>& done, Clock::time_point deadline,
                   const std::function<void()>& interrupt);
  // Without a worker: drives everything once. For threads that ask instead of waiting.
  void poll();

  // Whether nothing of `driven` is under way, and the callbacks of what was have returned.
  bool quiet(std::initializer_list<const Driven*> driven);

  // A communicator's ranks may all be running, on fewer cores.
  void expect_crowd();
  // More ranks than cores: a rank that spins takes the core from the one it waits for.
  bool crowded() const { return crowded_.load(std::memory_order_relaxed); }
  // A part of what is driven went, and waits again. The driver's thread says so.
  void note_progress() { progress_.fetch_add(1, std::memory_order_relaxed); }

 private:
  class Waiter;
  static void dispose(Engine* engine);
  // True if anything moved. Runs completions after the lock is gone.
  bool drive(bool look, bool& driven_by_other);
  void loop();

  std::shared_ptr<Fabric> fabric_;
  ArenaPool arenas_;
  std::atomic<bool> crowded_{false};
  std::atomic<unsigned> progress_{0};  // relaxed: who waits for long misses none for long

  std::mutex driving_;  // held while stepping
  Turns turns_;         // under driving_
  int finishing_ = 0;   // under driving_: threads that call callbacks

  std::mutex mutex_;  // the rest
  std::condition_variable wake_;
  int waiters_ = 0;  // threads in drive_until
  bool work_ = false;
  bool stop_ = false;
  std::optional<Worker> worker_;
  std::atomic<bool> has_worker_{true};  // relaxed: settled before anything is attached
  std::thread thread_;
};

}  // namespace weft

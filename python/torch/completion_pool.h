// Threads on which torch futures complete.
//
// A future's callbacks are user code: they may take the GIL, and wait for another
// collective (PowerSGD does). So they never run on Weft's progress thread, and one of them
// that blocks must not keep the next from running: before a thread enters a task it leaves
// another one behind that waits for the next.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace weft::torch_adapter {

// One a process. Thread safe.
class CompletionPool {
 public:
  // Something to do once. `run(subject)` owns the subject.
  struct Task {
    void (*run)(void* subject);
    void* subject;
  };

  // The pool of this process; a forked child gets one of its own.
  static CompletionPool& instance();

  // A backend came, or left. With the last one the threads go: idle ones before leave()
  // returns, those inside a task after it.
  void enter();
  void leave();

  // Waits until no task is left, at most until the deadline.
  void drain(std::chrono::steady_clock::time_point deadline);

  // Makes sure that there is a thread, since the thread that posts may not be allowed to make one.
  // Throws std::system_error if there can be none.
  void prepare();
  // Runs the task on a thread of the pool, soon.
  void post(Task task) noexcept;

 private:
  // More idle threads than these end.
  static constexpr int kIdle = 2;

  // Under mutex_.
  void spawn();
  void spawn_if_possible() noexcept;
  void serve();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::condition_variable gone_;
  std::deque<Task> tasks_;
  int backends_ = 0;
  int threads_ = 0;  // all of them
  int busy_ = 0;     // inside a task
};

}  // namespace weft::torch_adapter

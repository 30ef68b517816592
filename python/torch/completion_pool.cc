#include "completion_pool.h"

#include <c10/util/Logging.h>
#include <pthread.h>
#include <exception>
#include <system_error>
#include <thread>

#include "gil.h"
#include "per_process.h"

namespace weft::torch_adapter {

CompletionPool& CompletionPool::instance() { return PerProcess<CompletionPool>::get(); }

void CompletionPool::enter() {
  std::lock_guard lock(mutex_);
  ++backends_;
}

void CompletionPool::leave() {
  std::unique_lock lock(mutex_);
  if (--backends_ > 0) return;
  posted_.notify_all();
  gone_.wait(lock, [this] { return threads_ == busy_ || backends_ > 0; });
}

void CompletionPool::drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  gone_.wait_until(lock, deadline, [this] { return tasks_.empty() && busy_ == 0; });
}

void CompletionPool::prepare() {
  std::lock_guard lock(mutex_);
  if (threads_ == 0) spawn();
}

void CompletionPool::post(Task task) noexcept {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    // Only what finishes after its backend has left finds no thread.
    if (threads_ == busy_) spawn_if_possible();
  }
  posted_.notify_one();
}

void CompletionPool::spawn() {
  std::thread([this] { serve(); }).detach();
  ++threads_;
}

void CompletionPool::spawn_if_possible() noexcept {
  try {
    spawn();
  } catch (const std::system_error& error) {
    LOG(WARNING) << "weft: no further thread for callbacks of futures (" << error.what()
                 << "): they wait for a thread that is there";
  }
}

void CompletionPool::serve() {
  pthread_setname_np(pthread_self(), "weft-complete");
  std::unique_lock lock(mutex_);
  while (threads_ - busy_ <= kIdle) {
    posted_.wait(lock, [this] { return !tasks_.empty() || backends_ == 0; });
    if (tasks_.empty()) break;
    const Task task = tasks_.front();
    tasks_.pop_front();
    ++busy_;
    if (threads_ == busy_) spawn_if_possible();
    lock.unlock();
    try {
      // Tasks let go of Python objects: see ending.h. Tasks that come too late are left to the
      // system.
      if (!interpreter_ends()) task.run(task.subject);
    } catch (const std::exception& error) {
      LOG(ERROR) << "weft: a callback of a future threw: " << error.what();
    }
    lock.lock();
    --busy_;
    gone_.notify_all();
  }
  --threads_;
  gone_.notify_all();
}

}  // namespace weft::torch_adapter

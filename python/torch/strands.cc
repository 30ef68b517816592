#include "strands.h"

#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "completion_pool.h"
#include "per_process.h"

namespace weft::torch_adapter {

namespace {

struct Strand;

struct Strands {
  std::mutex mutex;
  std::map<std::string, Strand*> running;  // those with a task waiting or under way
};

struct Strand {
  Strands* all;
  std::string name;
  std::deque<std::function<void()>> tasks;  // under all->mutex
};

const std::string kProgram;
thread_local const std::string* current = &kProgram;

// On a thread of the pool: until nothing is left. Deletes the strand.
void drain(void* subject) {
  auto* strand = static_cast<Strand*>(subject);
  current = &strand->name;
  std::unique_lock lock(strand->all->mutex);
  while (!strand->tasks.empty()) {
    std::function<void()> task = std::move(strand->tasks.front());
    strand->tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds may take other locks when it goes
    lock.lock();
  }
  strand->all->running.erase(strand->name);
  lock.unlock();
  current = &kProgram;
  delete strand;
}

}  // namespace

const std::string& current_strand() { return *current; }

std::string strand_of_callbacks(const std::string& group) { return current_strand() + "/" + group; }

void post_in_order(const std::string& name, std::function<void()> task) {
  CompletionPool::instance().prepare();
  Strands& all = PerProcess<Strands>::get();
  std::lock_guard lock(all.mutex);
  Strand*& strand = all.running[name];
  const bool idle = !strand;
  if (idle) strand = new Strand{&all, name, {}};
  strand->tasks.push_back(std::move(task));
  if (idle) CompletionPool::instance().post({drain, strand});
}

}  // namespace weft::torch_adapter

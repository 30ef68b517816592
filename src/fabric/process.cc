#include "fabric/process.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "weft/error.h"

namespace weft {
namespace {

struct Process {
  // Plain mutexes: the child's only thread may unlock them, under its new thread id.
  std::mutex gate;  // NoFork; taken before `mutex`
  std::mutex mutex;
  std::set<int> live;
  std::map<Token, std::weak_ptr<Forkable>> local;
  std::vector<std::shared_ptr<Forkable>> held;  // while a fork is under way
  std::map<std::string, std::weak_ptr<Fabric>, std::less<>> defaults;
};

Process& process();

}  // namespace

std::atomic<std::uint32_t> ForkMark::forks_{0};

// All locks are held across the fork, so the child finds everything whole.
class ForkHandler {
 public:
  static void before() {
    process().gate.lock();
    process().mutex.lock();
    for (const auto& [token, watched] : process().local) {
      auto enrolled = watched.lock();
      if (!enrolled) continue;
      enrolled->lock_for_fork();
      process().held.push_back(std::move(enrolled));
    }
  }
  static void parent() {
    for (const auto& enrolled : process().held) enrolled->unlock_after_fork();
    process().held.clear();
    process().mutex.unlock();
    process().gate.unlock();
  }
  static void child() {
    Process& own = process();
    for (int fd : own.live) ::close(fd);
    own.live.clear();
    for (const auto& enrolled : own.held) enrolled->detach_in_child();
    own.local.clear();
    own.defaults.clear();
    // relaxed: the child has one thread.
    ForkMark::forks_.fetch_add(1, std::memory_order_relaxed);
    parent();
  }
};

namespace {

// Never destroyed: threads may still use fabrics while static objects go.
Process& process() {
  static Process* const instance = [] {
    ::pthread_atfork(&ForkHandler::before, &ForkHandler::parent, &ForkHandler::child);
    return new Process;
  }();
  return *instance;
}

}  // namespace

void ForkMark::refuse() {
  throw Unsupported(
      "this process was forked after the fabric was made, and a fabric works only in the process "
      "that made it; start ranks with exec, or make a new communicator after the fork");
}

NoFork::NoFork() { process().gate.lock(); }
NoFork::~NoFork() { process().gate.unlock(); }

LiveFd::LiveFd(const std::function<int()>& make) {
  std::lock_guard lock(process().mutex);
  fd_ = make();
  if (fd_ < 0) return;
  const int error = errno;
  process().live.insert(fd_);
  errno = error;
}

LiveFd::~LiveFd() {
  // In a forked child it is closed already, and the number may be somebody else's.
  if (fd_ < 0 || mark_.forked()) return;
  std::lock_guard lock(process().mutex);
  process().live.erase(fd_);
  ::close(fd_);
}

std::shared_ptr<Forkable> find_local(const Token& token) {
  std::lock_guard lock(process().mutex);
  const auto found = process().local.find(token);
  return found == process().local.end() ? nullptr : found->second.lock();
}

void enrol_local(const Token& token, std::shared_ptr<Forkable> enrolled) {
  std::lock_guard lock(process().mutex);
  process().local[token] = enrolled;
}

void withdraw_local(const Token& token) {
  std::lock_guard lock(process().mutex);
  process().local.erase(token);
}

std::shared_ptr<Fabric> default_fabric(const std::string& name) {
  std::lock_guard lock(process().mutex);
  const auto found = process().defaults.find(name);
  return found == process().defaults.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Fabric> keep_default_fabric(const std::shared_ptr<Fabric>& fabric) {
  std::lock_guard lock(process().mutex);
  auto& kept = process().defaults[std::string(fabric->name())];
  if (auto first = kept.lock()) return first;
  kept = fabric;
  return fabric;
}

}  // namespace weft

#include "meeting.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <system_error>

namespace bench {

namespace {

constexpr int kMostRanks = 256;

cpu_set_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

}  // namespace

struct Meeting::Page {
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> round;
  alignas(64) std::int64_t numbers[kMostRanks];
};

Meeting::Meeting(const std::string& file, int rank, int ranks) : rank_(rank), ranks_(ranks) {
  if (ranks > kMostRanks) throw std::runtime_error("the benchmark takes at most 256 ranks");
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
  void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED) throw std::system_error(why, std::generic_category(), file);
  page_ = static_cast<Page*>(memory);
  cpu_set_t cores = allowed_cores();
  crowded_ = ranks > CPU_COUNT(&cores);
}

Meeting::~Meeting() { munmap(page_, sizeof(Page)); }

void Meeting::wait() {
  const std::uint32_t round = page_->round.load(std::memory_order_relaxed);
  // acq_rel: the last to arrive has seen what all wrote before, and hands it on with the round.
  if (page_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == std::uint32_t(ranks_)) {
    page_->arrived.store(0, std::memory_order_relaxed);
    page_->round.store(round + 1, std::memory_order_release);
    return;
  }
  while (page_->round.load(std::memory_order_acquire) == round)
    if (crowded_) sched_yield();
}

double Meeting::seconds() {
  if (agree(crowded_)) return 0;
  constexpr int kMeetings = 16;
  std::array<double, 5> turns;
  for (double& turn : turns) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kMeetings; ++i) wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    turn = taken.count() / kMeetings;
  }
  std::ranges::sort(turns);
  return turns[turns.size() / 2];
}

std::int64_t Meeting::agree(std::int64_t mine) {
  if (rank_ == 0) page_->numbers[0] = mine;
  wait();
  const std::int64_t agreed = page_->numbers[0];
  wait();
  return agreed;
}

std::int64_t Meeting::largest(std::int64_t mine) {
  page_->numbers[rank_] = mine;
  wait();
  const std::int64_t most = *std::max_element(page_->numbers, page_->numbers + ranks_);
  wait();
  return most;
}

void pin(int rank, int ranks) {
  const cpu_set_t cores = allowed_cores();
  if (ranks > CPU_COUNT(&cores)) return;
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores) || seen++ != rank) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace bench

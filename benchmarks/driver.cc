#include "driver.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <typeinfo>
#include <vector>

#include "pattern.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr long kWarmSamples = 2;
constexpr double kWarmShare = 0.15;  // of the time of a case
constexpr long kLeastSamples = 5;    // that count: the first ones of a long operation are slow
constexpr long kMostSamples = 20000;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How many samples come next, and whether they count. Rank 0 decides, since clocks differ.
struct Turn {
  long samples;
  bool counts;
};

class Schedule {
 public:
  explicit Schedule(const Job& job) : job_(job) {}

  // After `done`, which took `seconds`. No samples: the case is finished.
  Turn next(Turn done, double seconds) {
    spent_ += seconds;
    taken_ += done.counts ? done.samples : 0;
    if (job_.samples) return {done.counts ? 0 : job_.samples, true};
    const bool warm = spent_ >= kWarmShare * job_.seconds;
    const bool enough = taken_ >= kLeastSamples && spent_ >= job_.seconds;
    if (done.counts && (enough || taken_ >= kMostSamples)) return {0, true};
    // Turns double, so that one slow sample does not decide how many there are.
    const double each = std::max(seconds / static_cast<double>(done.samples), 1e-9);
    const double end = warm ? job_.seconds : kWarmShare * job_.seconds;
    const long fit = static_cast<long>((end - spent_) / each);
    const long most = std::min(2 * done.samples, kMostSamples - taken_);
    return {std::clamp(fit, 1L, std::max(most, 1L)), warm};
  }

 private:
  const Job& job_;
  double spent_ = 0;
  long taken_ = 0;
};

// A case on one rank.
class Bench {
 public:
  Bench(Library& library, const Job& job, const Case& c, int rank, Meeting& meeting)
      : library_(library), job_(job), case_(c), rank_(rank), meeting_(meeting) {
    item_ = c.collective == "barrier" ? 1 : item_bytes(c.dtype);
    sides_ = sides(c, rank, job.ranks);
    if (sides_.output) output_ = touched(sides_.output * item_);
    if (in_place(c)) input_ = output_;
    if (sides_.input && !input_) input_ = touched(sides_.input * item_);
    library.bind(c, input_.get(), output_.get());
  }

  void run() {
    Schedule schedule(job_);
    apart_ = meeting_.seconds();
    for (Turn turn{kWarmSamples, false}; turn.samples;) {
      const auto start = Clock::now();
      for (long i = 0; i < turn.samples; ++i, ++iteration_) {
        const double taken = sample();
        if (turn.counts) seconds_.push_back(taken);
      }
      const double spent = since(start);
      correct_ = check() && correct_;
      turn = schedule.next(turn, spent);
      turn.samples = meeting_.agree(turn.counts ? turn.samples : -turn.samples);
      turn.counts = turn.samples >= 0;
      turn.samples = std::labs(turn.samples);
    }
    apart_ = std::max(apart_, meeting_.seconds());
  }

  void write(std::ostream& out, std::size_t index) const {
    const std::string algorithm = library_.algorithm();
    out << index << ' ' << correct_ << ' ' << (algorithm.empty() ? "-" : algorithm);
    out << " apart=" << apart_;
    for (double taken : seconds_) out << ' ' << taken;
    out << '\n';
  }

 private:
  // No library's memory has its pages made while an operation is timed.
  std::shared_ptr<void> touched(std::size_t bytes) {
    std::shared_ptr<void> memory = library_.allocate(bytes);
    std::memset(memory.get(), 0, bytes);
    return memory;
  }

  // Seconds of one operation.
  double sample() {
    if (sides_.input)
      values_ = encoded(tile(rank_, iteration_, job_.ranks, sides_.input + reach()), case_.dtype);
    rewrite(0);
    meeting_.wait();
    const auto start = Clock::now();
    library_.operate();
    for (int shift = 1; shift < case_.batch; ++shift) {
      rewrite(shift);
      library_.operate();
    }
    const double taken = since(start) / case_.batch;
    // First the library's own: a rank that sleeps in a meeting moves no message of it.
    library_.barrier();
    meeting_.wait();
    return taken;
  }

  // How far beyond its own length a batch shifts the input along its tile.
  std::size_t reach() const { return static_cast<std::size_t>(case_.batch); }

  void rewrite(int shift) {
    if (sides_.input)
      fill(input_.get(), sides_.input * item_, values_, item_, static_cast<std::size_t>(shift));
  }

  bool check() {
    if (case_.collective == "barrier") return held();
    return right(case_, rank_, job_.ranks, iteration_ - 1, reach() - 1, output_.get());
  }

  // Whether a barrier that one rank enters late lets nobody out before.
  bool held() {
    meeting_.wait();
    if (rank_ == iteration_ % job_.ranks) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto entered = Clock::now().time_since_epoch().count();
    library_.operate();
    const auto left = Clock::now().time_since_epoch().count();
    return left >= meeting_.largest(entered);
  }

  Library& library_;
  const Job& job_;
  const Case& case_;
  const int rank_;
  Meeting& meeting_;
  std::size_t item_;
  Sides sides_;
  std::shared_ptr<void> input_, output_;
  std::vector<std::byte> values_;
  long iteration_ = 0;
  double apart_ = 0;  // seconds of a meeting before or after, whichever took longer
  std::vector<double> seconds_;
  bool correct_ = true;
};

}  // namespace

std::shared_ptr<void> Library::allocate(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  void* memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (!memory) throw std::bad_alloc();
  return {memory, std::free};
}

void measure(Library& library, const Job& job, int rank, const std::string& directory) {
  Meeting meeting(job.meeting, rank, job.ranks);
  pin(rank, job.ranks);
  std::ofstream out(directory + "/samples." + std::to_string(rank));
  for (std::size_t index = 0; index < job.cases.size(); ++index) {
    Bench bench(library, job, job.cases[index], rank, meeting);
    bench.run();
    bench.write(out, index);
  }
  out.close();
  if (!out) throw std::runtime_error("cannot write the samples to " + directory);
}

int guarded(int rank, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    int failed = 0;
    char* name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &failed);
    const std::string type = failed ? "error" : name;
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, type.c_str() + type.rfind(':') + 1,
                 error.what());
    std::fflush(stderr);
    _exit(1);
  }
}

}  // namespace bench

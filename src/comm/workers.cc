#include "comm/workers.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>

#include "base/environment.h"
#include "base/errno_text.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr int kLeastNice = -20, kMostNice = 19;

// A variable of the environment; nothing where it is not set or "auto".
std::optional<int> number_of(const char* name, const std::string& text) {
  if (text.empty() || text == "auto") return std::nullopt;
  int number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last)
    throw InvalidArgument(std::string(name) + " is \"" + text + "\": give a whole number");
  return number;
}

std::optional<std::vector<int>> cores_of(const std::string& text) {
  if (text.empty() || text == "auto") return std::nullopt;
  auto cores = read_ranges(text);
  if (!cores)
    throw InvalidArgument("WEFT_WORKER_CORES is \"" + text +
                          "\": give processors, such as 3 or 2,6-7, or auto");
  return cores;
}

void check_count(int count) {
  const std::string given = "workers: count is " + std::to_string(count);
  if (count < 0) throw InvalidArgument(given + ": give 0, 1 or auto");
  if (count > 1)
    throw Unsupported(given +
                      ", but one thread carries on all asynchronous calls: give 0, 1 or auto");
}

void check_cores(const std::vector<int>& cores, const std::vector<int>& mask) {
  const std::string remedy = ": name some of the processors that this process may run on, " +
                             ranges_of(mask) + ", or start it with another affinity mask";
  if (cores.empty()) throw InvalidArgument("workers: cores is empty" + remedy);
  for (const int core : cores)
    if (std::ranges::find(mask, core) == mask.end())
      throw InvalidArgument("workers: cores has " + std::to_string(core) +
                            ", which is not in the affinity mask" + remedy);
}

// Whether a thread gets it is the system's affair: one tries.
void check_nice(int nice) {
  const std::string given = "workers: the nice value is " + std::to_string(nice);
  if (nice < kLeastNice || nice > kMostNice)
    throw InvalidArgument(given + ": give one from -20, the highest priority, to 19");
  int code = 0;
  std::thread([&] { code = place_this_thread("weft-try", {}, nice); }).join();
  if (code != 0)
    throw InvalidArgument(given + ", and this process may not have it (" +
                          errno_text("setpriority", code) +
                          "): give a higher value, or raise the limit RLIMIT_NICE");
}

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// Of an automatic choice.
std::string reason(const Split& split, Share share) {
  const std::string threads = counted(split.compute.size(), "compute thread") +
                              (share.ranks > 1 ? ", of one of " + std::to_string(share.ranks) +
                                                     " ranks on this affinity mask"
                                               : "");
  if (!split.left.empty()) return "left free by " + threads;
  const std::string why =
      split.compute.empty() ? "more ranks than processors" : "no core is left free by " + threads;
  return "not bound: " + why +
         ". Start fewer (OMP_NUM_THREADS), or name processors (WEFT_WORKER_CORES)";
}

}  // namespace

WorkerOptions read_workers(const WorkerOptions& asked, const CpuLimits& limits) {
  const Environment environment = Environment::read();
  WorkerOptions options = asked;
  if (!options.count) options.count = number_of("WEFT_WORKERS", environment.workers);
  if (!options.cores) options.cores = cores_of(environment.worker_cores);
  if (!options.nice) options.nice = number_of("WEFT_WORKER_NICE", environment.worker_nice);
  if (options.count) check_count(*options.count);
  if (options.cores) check_cores(*options.cores, limits.processors);
  if (options.nice) check_nice(*options.nice);
  if (options.compute_threads && *options.compute_threads < 0)
    throw InvalidArgument("workers: compute_threads is " +
                          std::to_string(*options.compute_threads) + ": give none below 0");
  return options;
}

WorkerPlan plan_worker(const WorkerOptions& options, const CpuLimits& limits, Share share,
                       const CpuProbe& probe) {
  const Split split =
      split_processors(limits, share, options.compute_threads.value_or(openmp_threads()), probe);
  WorkerPlan plan{{options.count != 0, options.cores.value_or(split.left), options.nice},
                  split.compute,
                  options.cores ? "as asked" : reason(split, share)};
  if (!plan.worker.exists) {
    plan.worker.cores.clear();
    plan.why = "none: threads inside a call of Weft carry on asynchronous calls";
  }
  return plan;
}

void check_same_worker(const WorkerOptions& asked, const Worker& worker) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgument(
        "workers: " + what +
        ", but the communicators of a fabric share one worker, and an earlier one "
        "says otherwise: give these options to the first");
  };
  if (asked.count && (*asked.count != 0) != worker.exists)
    refuse("count is " + std::to_string(*asked.count));
  if (!worker.exists) return;
  if (asked.cores && *asked.cores != worker.cores) refuse("cores are " + ranges_of(*asked.cores));
  if (asked.nice && asked.nice != worker.nice)
    refuse("the nice value is " + std::to_string(*asked.nice));
}

}  // namespace weft

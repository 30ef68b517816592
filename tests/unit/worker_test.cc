// The progress thread: where it runs, and calls without one.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/cpu.h"
#include "base/small_file.h"
#include "support/ranks.h"
#include "weft/communicator.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of all workers of this process.
std::vector<int> worker_threads() {
  std::vector<int> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    if (line_of(task.path() / "comm") == "weft-worker")
      found.push_back(std::stoi(task.path().filename()));
  return found;
}

std::vector<int> mask_of(int thread) {
  const std::string file = "/proc/self/task/" + std::to_string(thread) + "/status";
  return read_ranges(value_of(file, "Cpus_allowed_list")).value_or(std::vector<int>());
}

Call summed(std::vector<float>& data) {
  return {Collective::kAllreduce, data.data(), data.data(), data.size(), DType::kF32};
}

// Until it has finished nobody but the worker drives.
void await(const Request& request) {
  std::atomic<bool> finished{false};
  request.on_finish([&] { finished.store(true, std::memory_order_release); });
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (!finished.load(std::memory_order_acquire)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST(WorkerThread, RunsWhereItWasTold) {
  const int last = cpu_limits().processors.back();
  ASSERT_TRUE(worker_threads().empty());
  const auto told = [&](int, CommunicatorOptions& options) {
    options.workers = {.count = 1, .cores = {{last}}, .nice = 7};
  };
  run_ranks(
      1,
      [&](Communicator& comm) {
        std::vector<float> x(3, 1.0f);
        comm.run(summed(x));
        EXPECT_TRUE(worker_threads().empty()) << "a blocking call needs none";
        await(comm.submit(summed(x)));
        const auto threads = worker_threads();
        ASSERT_EQ(threads.size(), 1u);
        EXPECT_EQ(mask_of(threads[0]), std::vector<int>{last});
        EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(threads[0])), 7);
      },
      told);
}

// The mask of the thread that makes the communicator is what counts, as under taskset.
TEST(WorkerThread, NeverRunsOutsideOfTheMask) {
  const int first = cpu_limits().processors.front();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  run_ranks(
      1,
      [&](Communicator& comm) {
        std::vector<float> x(3, 1.0f);
        await(comm.submit(summed(x)));
        for (const int thread : worker_threads())
          EXPECT_EQ(mask_of(thread), std::vector<int>{first});
      },
      [&](int, CommunicatorOptions&) { ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0); });
}

const Adjust kNone = [](int, CommunicatorOptions& options) { options.workers.count = 0; };

TEST(WithoutAWorker, NoThreadIsMadeAndWaitsDrive) {
  run_ranks(
      3,
      [](Communicator& comm) {
        std::vector<float> x(300000, 1.0f), y(5, 2.0f);
        const Request first = comm.submit(summed(x)), second = comm.submit(summed(y));
        second.wait();
        EXPECT_TRUE(first.test());
        EXPECT_EQ(x.back() + y.back(), 3.0f + 6.0f);
        EXPECT_TRUE(worker_threads().empty());
      },
      kNone);
}

// What it waited for came meanwhile. Rank 1 stands still for longer than its timeout and the grace.
TEST(WithoutAWorker, AWaitThatStoodStillLooksOnceMore) {
  const auto stand_still = [still = false]() mutable {
    if (!std::exchange(still, true)) std::this_thread::sleep_for(milliseconds(1900));
  };
  std::atomic<bool> finished{false};
  run_ranks(
      2,
      [&](Communicator& comm) {
        std::vector<float> x(300, 1.0f);
        comm.set_timeout(milliseconds(500));
        if (comm.rank() == 0) {
          std::this_thread::sleep_for(milliseconds(300));  // it looks for interrupts every 20
          comm.run(summed(x));
          while (!finished) std::this_thread::yield();
        } else {
          const Request request = comm.submit(summed(x));
          EXPECT_NO_THROW(request.wait());
          finished = true;
        }
        EXPECT_EQ(x.back(), 2.0f);
      },
      [&](int rank, CommunicatorOptions& options) {
        options.workers.count = 0;
        if (rank == 1) options.interrupt = stand_still;
      });
}

TEST(WithoutAWorker, AskingDrives) {
  run_ranks(
      2,
      [](Communicator& comm) {
        std::vector<float> x(300000, 1.0f);
        const Request request = comm.submit(summed(x));
        const auto deadline = std::chrono::steady_clock::now() + seconds(30);
        while (!request.test()) {
          ASSERT_LT(std::chrono::steady_clock::now(), deadline);
          std::this_thread::yield();
        }
        EXPECT_EQ(x.front(), 2.0f);
      },
      kNone);
}

// Rank 1 waits for a call of one communicator while rank 0 is in a blocking call of the other.
TEST(WithoutAWorker, ABlockingCallCarriesOnThoseOfOtherCommunicators) {
  run_ranks(
      2,
      [](Communicator& comm) {
        const auto other = comm.split(0, comm.rank());
        std::vector<float> x(100000, 1.0f), y(100000, 2.0f);
        const Request request = other->submit(summed(x));
        if (comm.rank() == 1) request.wait();
        comm.run(summed(y));
        request.wait();
        EXPECT_EQ(x.back() + y.back(), 2.0f + 4.0f);
      },
      kNone);
}

TEST(WithoutAWorker, SendsAndReceivesFinish) {
  run_ranks(
      2,
      [](Communicator& comm) {
        const int peer = 1 - comm.rank();
        std::vector<int> out(100000, comm.rank()), in(out.size());
        const Request sent = comm.isend(out.data(), out.size(), DType::kI32, peer);
        comm.recv(in.data(), in.size(), DType::kI32, peer);
        sent.wait();
        EXPECT_EQ(in.back(), peer);
      },
      kNone);
}

}  // namespace
}  // namespace weft::testing

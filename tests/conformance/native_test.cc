// The verb `native` with a toy: an allreduce by a shared table, in a fabric that is otherwise the
// in-process one. It can be told to be slow.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "conformance/fabrics.h"
#include "fabric/natives.h"
#include "support/inner_fabric.h"
#include "support/ranks.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;

// One sum for each call. All ranks of a test share the table.
struct Table {
  struct Sum {
    int begun = 0;
    std::vector<float> total{};
  };
  std::mutex mutex;
  std::map<std::uint32_t, Sum> sums{};  // by the number of the call
  bool slow = false;                    // no function ends
  std::atomic<int> failed = 0;          // ranks
  int under_way = 0;                    // functions that have not ended
  int written = 0;                      // outputs
};

class ToyRun final : public NativeRun {
 public:
  ToyRun(Table& table, const NativeCall& call) : table_(table), call_(call) {
    std::lock_guard lock(table_.mutex);
    ++table_.under_way;
    Table::Sum& sum = table_.sums[call_.signature.sequence];
    ++sum.begun;
    sum.total.resize(call_.input.size() / sizeof(float));
    const auto* const x = reinterpret_cast<const float*>(call_.input.data());
    for (std::size_t i = 0; i < sum.total.size(); ++i) sum.total[i] += x[i];
  }
  bool test() override {
    std::lock_guard lock(table_.mutex);
    const Table::Sum& sum = table_.sums[call_.signature.sequence];
    // As one that goes on writes: whatever it writes must be no caller's.
    std::ranges::fill(call_.output, std::byte{0x5a});
    if (table_.slow || sum.begun < call_.ranks) return false;
    auto* const y = reinterpret_cast<float*>(call_.output.data());
    for (std::size_t i = 0; i < sum.total.size(); ++i)
      y[i] = sum.total[i] * static_cast<float>(call_.scale);
    --table_.under_way;
    ++table_.written;
    return true;
  }

 private:
  Table& table_;
  const NativeCall call_;
};

class ToyNatives final : public Natives {
 public:
  explicit ToyNatives(Table& table) : table_(table) {}
  std::string obstacle(const Endpoint&, Collective collective, DType dtype,
                       ReduceOp op) const override {
    const bool sums = op == ReduceOp::kSum || op == ReduceOp::kAvg;
    if (collective == Collective::kAllreduce && dtype == DType::kF32 && sums) return {};
    return "the toy only sums float32";
  }
  std::unique_ptr<NativeRun> begin(const NativeCall& call) override {
    return std::make_unique<ToyRun>(table_, call);
  }

 private:
  Table& table_;
};

class ToyFabric final : public InnerFabric {
 public:
  explicit ToyFabric(Table& table) : natives_(table) {}
  std::string_view name() const override { return "toy"; }
  Natives* natives() override { return &natives_; }

 private:
  ToyNatives natives_;
};

Adjust with(Table& table) {
  return [&table](int, CommunicatorOptions& options) {
    options.fabric = std::make_shared<ToyFabric>(table);
  };
}

Call sum_of(const std::vector<float>& x, std::vector<float>& y) {
  Call call{Collective::kAllreduce, x.data(), y.data(), x.size(), DType::kF32};
  call.algorithm = "native";
  return call;
}

std::vector<float> numbers(int rank, std::size_t count) {
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), static_cast<float>(rank));
  return x;
}

std::string what(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

class NativeTest : public ::testing::TestWithParam<int> {};

TEST_P(NativeTest, IsBegunAndTestedUntilItEnds) {
  Table table;
  const int ranks = GetParam();
  run_ranks(
      ranks,
      [&](Communicator& comm) {
        for (std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{100003}}) {
          const std::vector<float> x = numbers(comm.rank(), count);
          std::vector<float> y(count), expected(count);
          for (int rank = 0; rank < ranks; ++rank)
            for (std::size_t i = 0; i < count; ++i)
              expected[i] += static_cast<float>(i) + static_cast<float>(rank);
          comm.run(sum_of(x, y));
          ASSERT_EQ(y, expected) << count;
          y = x;  // in place, by the progress thread, between calls that Weft does itself
          comm.submit(sum_of(y, y)).wait();
          ASSERT_EQ(y, expected) << count;
          comm.allreduce(x.data(), y.data(), count, DType::kF32, ReduceOp::kSum);
          ASSERT_EQ(y, expected) << count;
        }
      },
      with(table));
  EXPECT_EQ(table.under_way, 0);
  EXPECT_EQ(table.written, 6 * ranks);
}

// A slow native's call fails in time and leaves the buffers alone. The native ends later.
void time_out(bool asynchronous) {
  Table table;
  table.slow = true;
  const auto began = Clock::now();
  const auto errors = try_ranks(
      2,
      [&](Communicator& comm) {
        const std::vector<float> x = numbers(comm.rank(), 5000);
        std::vector<float> y(x.size(), -1.0F);
        const std::vector<float> before = y;
        std::exception_ptr failure;
        try {
          if (asynchronous)
            // Longer than the call's own timeout: a process that stands still for a second
            // meanwhile would else see its wait end before the call.
            comm.submit(sum_of(x, y)).wait(std::chrono::seconds(60));
          else
            comm.run(sum_of(x, y));
        } catch (...) {
          failure = std::current_exception();
        }
        EXPECT_EQ(y, before);
        ++table.failed;
        await("the other's failure", [&] { return table.failed == 2; });
        {
          std::lock_guard lock(table.mutex);
          table.slow = false;
        }
        std::this_thread::sleep_for(milliseconds(20));
        EXPECT_EQ(y, before);
        EXPECT_THROW(comm.run(sum_of(x, y)), Aborted);
        EXPECT_EQ(y, before);
        if (failure) std::rethrow_exception(failure);
      },
      milliseconds(200), with(table));
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(8));
  for (const std::exception_ptr& error : errors)
    EXPECT_NE(what(error).find("for the fabric's own function"), std::string::npos) << what(error);
  EXPECT_EQ(table.under_way, 0);
}

TEST(NativeFailureTest, ATimeoutLeavesTheBuffersAlone) { time_out(false); }
TEST(NativeFailureTest, SoDoesAnAsynchronousCall) { time_out(true); }

// The abort of a member ends the wait, long before the timeout.
TEST(NativeFailureTest, AnAbortEndsTheWait) {
  Table table;
  table.slow = true;
  const auto errors = try_ranks(
      2,
      [&](Communicator& comm) {
        if (comm.rank() == 0) {
          std::this_thread::sleep_for(milliseconds(50));
          comm.abort("rank 0 has had enough");
          std::this_thread::sleep_for(milliseconds(100));
          std::lock_guard lock(table.mutex);
          table.slow = false;
          table.sums[1].begun = 2;  // the other's function ends
          return;
        }
        const std::vector<float> x = numbers(1, 10);
        std::vector<float> y(10, -1.0F);
        EXPECT_THROW(comm.run(sum_of(x, y)), Aborted);
        EXPECT_EQ(y, std::vector<float>(10, -1.0F));
      },
      std::chrono::seconds(60), with(table));
  for (const std::exception_ptr& error : errors) EXPECT_EQ(what(error), "nothing");
  EXPECT_EQ(table.under_way, 0);
}

TEST(NativeRefusalTest, NamesTheFabricTheCollectiveAndTheRemedy) {
  Table table;
  run_ranks(
      2,
      [](Communicator& comm) {
        std::vector<double> x(4);
        Call call{Collective::kAllreduce, x.data(), x.data(), 4, DType::kF64};
        call.algorithm = "allreduce/native";
        try {
          comm.run(call);
          FAIL() << "no error";
        } catch (const Unsupported& error) {
          for (const char* part : {"\"toy\"", "allreduce", "only sums float32", "choose another"})
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
        comm.barrier();  // it stays usable
      },
      with(table));
  run_ranks(2, [](Communicator& comm) {
    std::vector<float> x(4);
    try {
      comm.run(sum_of(x, x));
      FAIL() << "no error";
    } catch (const Unsupported& error) {
      for (const char* part : {"\"shm\"", "no collectives of its own", "choose another"})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    comm.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, NativeTest, ::testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace weft::testing

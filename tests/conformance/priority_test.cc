// Communicators of several priorities over one fabric: who overtakes whom, and that all get right
// results.
#include <algorithm>
#include <atomic>
#include <random>

#include "conformance/fabrics.h"
#include "engine/engine.h"
#include "support/ranks.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using std::chrono::seconds;

class PriorityTest : public ::testing::TestWithParam<FabricKind> {
 protected:
  static void run(int ranks, const std::function<void(Communicator&)>& body) {
    run_ranks(ranks, body,
              [](int, CommunicatorOptions& options) { options.fabric = GetParam().make(); });
  }
};

// All on this thread: while it drives, the progress thread stands back.
void drive(Communicator& comm, const std::function<bool()>& done) {
  const auto engine = Engine::of(comm.fabric());
  ASSERT_TRUE(engine->drive_until(done, Clock::now() + seconds(60), {}));
}

Call summed(std::vector<std::int64_t>& data, std::string_view algorithm = "") {
  Call call{Collective::kAllreduce, data.data(), data.data(), data.size(), DType::kI64};
  call.algorithm = algorithm;
  return call;
}

// One rank alone never waits: it stops where the engine stops it, and nowhere else.
TEST_P(PriorityTest, AShortCallOvertakesALongOneWithinAChunk) {
  run(1, [](Communicator& low) {
    const auto high = low.split(0, 0, 1);
    ASSERT_EQ(high->priority(), 1);
    constexpr int kChunks = 100, kBefore = 10;
    std::vector<std::int64_t> lengthy(kChunks * 512, 3), brief(64, 5);
    std::string order;
    int passes = 0, low_done = 0, high_done = 0;
    drive(low, [&] {
      if (passes == 0) {
        low.submit(summed(lengthy, "one_shot(chunk=4K)")).on_finish([&] {
          order += 'l';
          low_done = passes;
        });
      } else if (passes == kBefore) {
        high->submit(summed(brief)).on_finish([&] {
          order += 'h';
          high_done = passes;
        });
      }
      ++passes;
      return order.size() == 2;
    });
    EXPECT_EQ(order, "hl");
    EXPECT_EQ(high_done, kBefore + 1) << "the next to be asked";
    EXPECT_EQ(low_done, kChunks) << "one chunk each time, and one together with the short call";
  });
}

TEST_P(PriorityTest, AShortCallOvertakesALongOneOnAllRanks) {
  for (const int ranks : {2, 3, 5}) {
    run(ranks, [ranks](Communicator& low) {
      const auto high = low.split(0, low.rank(), 1);
      const std::size_t words = std::size_t{1} << 19;
      std::vector<std::int64_t> lengthy(words, low.rank() + 1), brief(100, low.rank());
      std::string order;
      int passes = 0;
      drive(low, [&] {
        if (passes == 0) {
          low.submit(summed(lengthy, "ring(chunk=4K)")).on_finish([&] { order += 'l'; });
        } else if (passes == 20) {
          high->submit(summed(brief)).on_finish([&] { order += 'h'; });
        }
        ++passes;
        return order.size() == 2;
      });
      EXPECT_EQ(order, "hl");
      EXPECT_EQ(lengthy, std::vector<std::int64_t>(words, ranks * (ranks + 1) / 2));
      EXPECT_EQ(brief, std::vector<std::int64_t>(100, ranks * (ranks - 1) / 2));
    });
  }
}

// The calling thread drives what goes before its call.
TEST_P(PriorityTest, ABlockingCallOfALowPriorityLetsOthersGoFirst) {
  run(2, [](Communicator& low) {
    const auto high = low.split(0, low.rank(), 3);
    for (int time = 0; time < 20; ++time) {
      std::vector<std::int64_t> first(5000, 1), second(3, 2), third(70000, 3);
      const Request one = low.submit(summed(first)), two = high->submit(summed(second));
      low.run(summed(third));
      high->run(summed(second));
      EXPECT_TRUE(one.test() && two.test()) << "each lane is first in, first out";
      EXPECT_EQ(first.back() * 100 + second.back() * 10 + third.back(), 2 * 100 + 8 * 10 + 6);
    }
  });
}

TEST_P(PriorityTest, RanksMustAgree) {
  const auto adjust = [](int rank, CommunicatorOptions& options) {
    options.fabric = GetParam().make();
    options.priority = rank == 1 ? 4 : -2;
  };
  const auto errors = try_ranks(3, [](Communicator&) {}, seconds(30), adjust);
  for (const auto& error : errors) {
    try {
      if (!error) FAIL() << "no error";
      std::rethrow_exception(error);
    } catch (const InvalidArgument& refused) {
      EXPECT_STREQ(refused.what(),
                   "rank 0 gives priority=-2 and rank 1 gives priority=4: give the "
                   "same on every rank");
    }
  }
}

TEST_P(PriorityTest, RanksOfAColorMustAgree) {
  run(3, [](Communicator& comm) {
    const int color = comm.rank() == 0 ? 0 : 1;
    try {
      (void)comm.split(color, 0, comm.rank());
      ADD_FAILURE() << "no error";
    } catch (const InvalidArgument& refused) {
      EXPECT_STREQ(refused.what(),
                   "split: rank 1 gives color 1 the priority 1, rank 2 2: give the "
                   "same on every rank of a color");
    }
    const auto part = comm.split(color, 0, color + 5);  // each color may have its own
    EXPECT_EQ(part->priority(), color + 5);
    EXPECT_EQ(part->split(0, 0)->priority(), color + 5) << "the parent's";
    part->barrier();
  });
}

// One operation: what a rank gives and what it is to get follow from the number of the operation.
struct Operation {
  enum Kind { kAllreduce, kBroadcast, kAllgather, kAlltoall, kExchange, kKinds };
  Kind kind;
  std::size_t lane, count;
  std::int64_t number;
};

std::int64_t value(const Operation& op, int rank, std::size_t i) {
  return op.number * 1000003 + rank * 1009 + static_cast<std::int64_t>(i % 97);
}

class Started {
 public:
  Started(const Operation& op, Communicator& comm)
      : op_(op),
        comm_(comm),
        ranks_(static_cast<std::size_t>(comm.size())),
        in_(op.count * (op.kind == Operation::kAlltoall ? ranks_ : 1)),
        out_(op.count * (gathers() ? ranks_ : 1)) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = value(op_, comm.rank(), i);
    if (op_.kind == Operation::kExchange)
      exchange();
    else
      requests_.push_back(comm.submit(call()));
  }
  void wait() {
    for (const Request& request : requests_) request.wait();
  }
  void check() const {
    for (std::size_t i = 0; i < out_.size(); ++i)
      ASSERT_EQ(out_[i], expected(i)) << "operation " << op_.number << " of kind " << op_.kind
                                      << " at " << i << " of " << out_.size();
  }

 private:
  bool gathers() const {
    return op_.kind == Operation::kAllgather || op_.kind == Operation::kAlltoall;
  }
  int root() const { return static_cast<int>(op_.number) % comm_.size(); }
  int neighbour(int step) const { return (comm_.rank() + comm_.size() + step) % comm_.size(); }

  Call call() {
    constexpr Collective kCollectives[] = {Collective::kAllreduce, Collective::kBroadcast,
                                           Collective::kAllgather, Collective::kAlltoall};
    Call call{kCollectives[op_.kind], in_.data(), out_.data(), op_.count, DType::kI64};
    if (op_.kind == Operation::kBroadcast) {
      if (comm_.rank() == root()) out_ = in_;
      call.input = out_.data();
      call.root = root();
    }
    return call;
  }
  void exchange() {
    const int tag = static_cast<int>(op_.number);
    requests_.push_back(comm_.isend(in_.data(), op_.count, DType::kI64, neighbour(1), tag));
    requests_.push_back(comm_.irecv(out_.data(), op_.count, DType::kI64, neighbour(-1), tag));
  }
  std::int64_t expected(std::size_t i) const {
    const int block = static_cast<int>(i / std::max<std::size_t>(1, op_.count));
    const std::size_t mine = op_.count * static_cast<std::size_t>(comm_.rank());
    std::int64_t sum = 0;
    switch (op_.kind) {
      case Operation::kAllreduce:
        for (int rank = 0; rank < comm_.size(); ++rank) sum += value(op_, rank, i);
        return sum;
      case Operation::kBroadcast:
        return value(op_, root(), i);
      case Operation::kAllgather:
        return value(op_, block, i % op_.count);
      case Operation::kAlltoall:
        return value(op_, block, mine + i % op_.count);
      default:
        return value(op_, neighbour(-1), i);
    }
  }

  const Operation op_;
  Communicator& comm_;
  const std::size_t ranks_;
  std::vector<std::int64_t> in_, out_;
  std::vector<Request> requests_;
};

std::vector<Operation> drawn(unsigned seed, std::size_t lanes, std::int64_t operations) {
  std::minstd_rand random(seed);
  std::vector<Operation> all;
  for (std::int64_t i = 0; i < operations; ++i) {
    const std::size_t most = random() % 3 == 0 ? 40000 : 2000;
    all.push_back({static_cast<Operation::Kind>(random() % Operation::kKinds), random() % lanes,
                   random() % most, i});
  }
  return all;
}

// Every rank keeps the order of each lane, and has its own order between lanes.
std::vector<Operation> interleaved(const std::vector<Operation>& all, std::size_t lanes, int rank) {
  std::minstd_rand random(static_cast<unsigned>(rank) + 77);
  std::vector<std::size_t> turns;
  for (const Operation& op : all) turns.push_back(op.lane);
  std::shuffle(turns.begin(), turns.end(), random);
  std::vector<std::size_t> next(lanes);
  std::vector<Operation> mine;
  for (const std::size_t lane : turns) {
    std::size_t& at = next[lane];
    while (all[at].lane != lane) ++at;
    mine.push_back(all[at++]);
  }
  return mine;
}

TEST_P(PriorityTest, RandomCallsOnThreePrioritiesAreRight) {
  for (const int ranks : {2, 3, 5}) {
    run(ranks, [ranks](Communicator& comm) {
      std::vector<std::shared_ptr<Communicator>> lanes;
      for (const int priority : {-3, 7, 0, 7})
        lanes.push_back(comm.split(0, comm.rank(), priority));
      const auto all = drawn(static_cast<unsigned>(ranks), lanes.size(), kFindsRaces ? 60 : 240);
      std::minstd_rand random(static_cast<unsigned>(comm.rank()));
      std::vector<std::unique_ptr<Started>> started;
      for (const Operation& op : interleaved(all, lanes.size(), comm.rank())) {
        started.push_back(std::make_unique<Started>(op, *lanes[op.lane]));
        if (random() % 8 == 0) std::this_thread::yield();
      }
      std::shuffle(started.begin(), started.end(), random);
      for (const auto& one : started) one->wait();
      for (const auto& one : started) one->check();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, PriorityTest, ::testing::ValuesIn(fabric_kinds()),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PriorityTest);

}  // namespace
}  // namespace weft::testing

// Communicators over every fabric but shm, over which all other tests run: a small table of
// collectives, transfers, errors.
#include <unistd.h>

#include "conformance/fabrics.h"
#include "support/ranks.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<FabricKind> other_kinds() {
  std::vector<FabricKind> kinds;
  for (const FabricKind& kind : fabric_kinds()) {
    if (kind.name != "shm") kinds.push_back(kind);
  }
  return kinds;
}

class OverFabricsTest : public ::testing::TestWithParam<FabricKind> {
 protected:
  static Adjust over(const FabricKind& kind) {
    return [kind](int, CommunicatorOptions& options) { options.fabric = kind.make(); };
  }
  void run(int ranks, const std::function<void(Communicator&)>& body) const {
    run_ranks(ranks, body, over(GetParam()));
  }
  std::vector<std::exception_ptr> fail(int ranks, milliseconds timeout,
                                       const std::function<void(Communicator&)>& body) const {
    return try_ranks(ranks, body, timeout, over(GetParam()));
  }
};

// In the message itself, one chunk, many chunks with a tail.
constexpr std::size_t kCounts[] = {3, 5001, 300007};
constexpr std::size_t kManyChunks = 300007;

std::vector<float> numbers(int rank, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101);
  }
  return x;
}

std::vector<float> sum(int ranks, std::size_t count) {
  std::vector<float> total(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto x = numbers(rank, count);
    for (std::size_t i = 0; i < count; ++i) total[i] += x[i];
  }
  return total;
}

void expect_allreduce(Communicator& comm, std::size_t count, std::string_view algorithm) {
  auto x = numbers(comm.rank(), count);
  Call call{Collective::kAllreduce, x.data(), x.data(), count, DType::kF32};
  call.algorithm = algorithm;
  comm.run(call);
  ASSERT_EQ(x, sum(comm.size(), count)) << algorithm << " of " << count;
}

TEST_P(OverFabricsTest, Allreduce) {
  run(3, [](Communicator& comm) {
    for (std::size_t count : kCounts) expect_allreduce(comm, count, "");
    for (auto algorithm : {"ring", "two_shot", "multi_leader"})
      expect_allreduce(comm, kManyChunks, algorithm);
  });
}

TEST_P(OverFabricsTest, OtherCollectives) {
  run(3, [](Communicator& comm) {
    const std::size_t n = 100003;
    const auto ranks = static_cast<std::size_t>(comm.size());
    auto data = numbers(1, n);
    if (comm.rank() != 1) std::fill(data.begin(), data.end(), 0.f);
    comm.broadcast(data.data(), n, DType::kF32, 1);
    ASSERT_EQ(data, numbers(1, n));
    comm.barrier();
    const auto mine = numbers(comm.rank(), n);
    std::vector<float> all(n * ranks), back(n * ranks);
    comm.allgather(mine.data(), all.data(), n, DType::kF32);
    for (int rank = 0; rank < comm.size(); ++rank) {
      const auto block = all.begin() + static_cast<std::ptrdiff_t>(n) * rank;
      ASSERT_TRUE(std::equal(block, block + n, numbers(rank, n).begin())) << rank;
    }
    std::vector<float> share(n);
    comm.reduce_scatter(all.data(), share.data(), n, DType::kF32, ReduceOp::kMax);
    ASSERT_EQ(share, numbers(comm.rank(), n)) << "all ranks have the same";
    comm.alltoall(all.data(), back.data(), n, DType::kF32);
    for (std::size_t rank = 0; rank < ranks; ++rank) ASSERT_EQ(back[rank * n + 5], mine[5]);
  });
}

// Symmetric memory is ordinary memory to a peer that does not load it.
TEST_P(OverFabricsTest, SymmetricBuffers) {
  run(2, [](Communicator& comm) {
    const std::size_t count = kManyChunks;
    const auto memory = symmetric_alloc(*comm.fabric(), count * sizeof(float));
    auto* x = static_cast<float*>(memory.get());
    for (auto algorithm : {"", "two_shot", "ring"}) {
      const auto mine = numbers(comm.rank(), count);
      std::copy(mine.begin(), mine.end(), x);
      Call call{Collective::kAllreduce, x, x, count, DType::kF32};
      call.algorithm = algorithm;
      comm.run(call);
      ASSERT_EQ(std::vector<float>(x, x + count), sum(2, count)) << algorithm;
    }
  });
}

TEST_P(OverFabricsTest, SendAndReceiveBothWaysAtOnce) {
  run(2, [](Communicator& comm) {
    const int peer = 1 - comm.rank();
    for (std::size_t count : kCounts) {
      const auto out = numbers(comm.rank(), count);
      std::vector<float> in(count);
      const Request sent = comm.isend(out.data(), count, DType::kF32, peer, 3);
      const Request got = comm.irecv(in.data(), count, DType::kF32, peer, 3);
      sent.wait();
      got.wait();
      ASSERT_EQ(in, numbers(peer, count));
    }
  });
}

TEST_P(OverFabricsTest, SubgroupsWorkBesideEachOther) {
  run(4, [](Communicator& comm) {
    const auto half = comm.split(comm.rank() % 2, 0);
    expect_allreduce(comm, 5001, "");
    int x = comm.rank();
    half->allreduce(&x, &x, 1, DType::kI32, ReduceOp::kSum);
    ASSERT_EQ(x, comm.rank() % 2 == 0 ? 2 : 4);
  });
}

template <typename E>
std::string text_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

TEST_P(OverFabricsTest, AMismatchIsSeen) {
  const auto errors = fail(2, seconds(20), [](Communicator& comm) {
    std::vector<float> x(9);
    comm.allreduce(x.data(), x.data(), comm.rank() == 0 ? 8 : 9, DType::kF32, ReduceOp::kSum);
  });
  for (const auto& error : errors) {
    EXPECT_NE(text_of<Error>(error).find("rank 1 called"), std::string::npos)
        << text_of<Error>(error);
  }
}

TEST_P(OverFabricsTest, ATimeoutNamesThePeerAndWhereItIs) {
  const auto errors = each_rank(2, [](int rank, const std::shared_ptr<Store>& store) {
    const auto fabric = GetParam().make();
    const auto comm = Communicator::create(store, rank, 2, {seconds(20), fabric});
    comm->barrier();
    comm->set_timeout(milliseconds(300));
    if (rank == 1) {
      store->set("process", std::to_string(::getpid()));
      return (void)store->get("over", seconds(20));
    }
    const std::string pid = store->get("process", seconds(20));
    try {
      comm->barrier();
      ADD_FAILURE() << "no error";
    } catch (const Timeout& error) {
      const std::string text = error.what();
      // A quiet fabric's peer answers when it makes a call, and it makes none.
      const std::string progress =
          GetParam().quiet ? "which does not answer" : "which has not entered it (its last is #1)";
      for (const std::string& part :
           {"rank 1, process " + pid, std::string("on host "), progress}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
      }
    }
    store->set("over", "");
  });
  rethrow_first(errors);
}

TEST_P(OverFabricsTest, AnAlgorithmThatLoadsIsRefused) {
  const auto errors = fail(2, seconds(20), [](Communicator& comm) {
    std::vector<float> x(100000);
    Call call{Collective::kAllreduce, x.data(), x.data(), x.size(), DType::kF32};
    call.algorithm = "direct";
    comm.run(call);
  });
  for (const auto& error : errors) {
    EXPECT_NE(text_of<Error>(error).find("shares no memory"), std::string::npos)
        << text_of<Error>(error);
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, OverFabricsTest, ::testing::ValuesIn(other_kinds()),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OverFabricsTest);

}  // namespace
}  // namespace weft::testing

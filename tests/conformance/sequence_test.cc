// Random sequences of different collectives, sizes and roots: synchronous, asynchronous
// and point to point mixed. Nothing separates one call from the next, so ranks run a whole
// collective ahead of each other: the lane's contract, tested.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "support/ranks.h"

namespace weft::testing {
namespace {

using C = Collective;

// One operation with its buffers and the check of its result. Values name the operation,
// the rank and the element, so a payload of another call never passes.
class Operation {
 public:
  Operation(Communicator& comm, std::mt19937& shared, int number)
      : comm_(comm), me_(comm.rank()), size_(comm.size()), number_(number) {
    kind_ = static_cast<int>(shared() % 10);
    root_ = static_cast<int>(shared() % static_cast<unsigned>(size_));
    other_ = size_ > 1 ? static_cast<int>((static_cast<unsigned>(root_) + 1 +
                                           shared() % static_cast<unsigned>(size_ - 1)) %
                                          static_cast<unsigned>(size_))
                       : 0;
    constexpr std::size_t kSizes[] = {0, 1, 5, 100, 129, 1000, 5000, 40000};
    // Large ones are rare: ten thousand operations are to take seconds.
    count_ = kSizes[shared() % (shared() % 16 == 0 ? 8 : 6)];
    async_ = shared() % 3 == 0;
    tag_ = static_cast<int>(shared() % 3);
    bool per_rank = kind_ == 3 || kind_ == 4 || kind_ == 5;
    input_.resize(count_ * static_cast<std::size_t>(per_rank ? size_ : 1));
    output_.assign(count_ * static_cast<std::size_t>(kind_ >= 4 && kind_ <= 6 ? size_ : 1), -1);
    for (std::size_t i = 0; i < input_.size(); ++i) input_[i] = value(me_, i);
  }

  void start() {
    if (kind_ == 9) return start_transfer();
    constexpr C kKinds[] = {C::kAllreduce,     C::kBroadcast, C::kReduce,
                            C::kReduceScatter, C::kAlltoall,  C::kAlltoall,
                            C::kAllgather,     C::kBarrier,   C::kAllreduce};
    Call call{kKinds[kind_], input_.data(),  output_.data(), count_,
              DType::kI32,   ReduceOp::kSum, root_};
    if (async_)
      request_ = comm_.submit(call);
    else
      comm_.run(call);
  }

  void finish() {
    request_.wait();
    for (std::size_t i = 0; i < output_.size(); ++i) {
      if (!has_output()) return;
      if (output_[i] == expected(i)) continue;
      ADD_FAILURE() << "operation " << number_ << " kind " << kind_ << " count " << count_
                    << " root " << root_ << (async_ ? " async" : "") << ": rank " << me_
                    << " element " << i << " is " << output_[i] << ", not " << expected(i);
      return;
    }
  }

 private:
  int value(int rank, std::size_t i) const {
    return number_ * 7 + rank * 1000 + static_cast<int>(i % 997);
  }
  int sum(std::size_t i) const {
    int total = 0;
    for (int rank = 0; rank < size_; ++rank) total += value(rank, i);
    return total;
  }
  bool has_output() const {
    if (kind_ == 2) return me_ == root_;
    if (kind_ == 9) return size_ > 1 && me_ == other_;
    return kind_ != 7;
  }
  int expected(std::size_t i) const {
    auto own = static_cast<std::size_t>(me_) * count_;
    switch (kind_) {
      case 1:
        return value(root_, i);
      case 3:
        return sum(own + i);
      case 4:
      case 5:
        return value(static_cast<int>(i / count_), own + i % count_);
      case 6:
        return value(static_cast<int>(i / count_), i % count_);
      case 9:
        return value(root_, i);
      default:
        return sum(i);
    }
  }
  void start_transfer() {
    if (size_ == 1) return;
    if (me_ == root_) {
      if (async_)
        request_ = comm_.isend(input_.data(), count_, DType::kI32, other_, tag_);
      else
        comm_.send(input_.data(), count_, DType::kI32, other_, tag_);
    } else if (me_ == other_) {
      request_ = comm_.irecv(output_.data(), count_, DType::kI32, root_, tag_);
    }
  }

  Communicator& comm_;
  const int me_, size_, number_;
  int kind_, root_, other_, tag_;
  std::size_t count_;
  bool async_;
  std::vector<int> input_, output_;
  Request request_;
};

class Sequence : public ::testing::TestWithParam<int> {};

TEST_P(Sequence, ThousandsOfOperations) {
  constexpr int kOperations = kFindsRaces ? 2000 : 10000;
  run_ranks(GetParam(), [&](Communicator& comm) {
    std::mt19937 shared(1234);                                  // alike on all ranks
    std::mt19937 own(static_cast<unsigned>(99 + comm.rank()));  // when results are looked at
    std::deque<Operation> open;
    for (int number = 0; number < kOperations; ++number) {
      open.emplace_back(comm, shared, number);
      open.back().start();
      while (open.size() > own() % 8) {
        open.front().finish();
        open.pop_front();
      }
      if (::testing::Test::HasFailure()) break;
    }
    for (Operation& operation : open) operation.finish();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sequence, ::testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace weft::testing

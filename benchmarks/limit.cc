// The limit of the memory: only the loads, adds and stores of a collective, in one process with a
// pinned thread for each rank: `limit_bench DIRECTORY`. Every thread reaches every buffer, and no
// thread signals. A sample ends when the slowest thread is done. A library can be faster only by a
// better order of the same accesses.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/copy.h"
#include "kernels/kernels.h"
#include "threads.h"

namespace {

using weft::kernels::copy;
using weft::kernels::To;

// The buffers of all threads, for all threads. Written in bind(), which a meeting follows.
struct Buffers {
  const std::byte* input;
  std::byte* output;
};

class Limit : public bench::Library {
 public:
  Limit(int rank, std::vector<Buffers>& all)
      : rank_(static_cast<std::size_t>(rank)), all_(all), size_(all.size()) {}

  void bind(const bench::Case& c, const void* input, void* output) override {
    all_[rank_] = {static_cast<const std::byte*>(input), static_cast<std::byte*>(output)};
    const weft::DType dtype = weft::parse_dtype(c.dtype);
    item_ = weft::size_of(dtype);
    count_ = c.count;
    reduce_ = weft::kernels::find_reduce(dtype, weft::ReduceOp::kSum);
    if (c.collective == "allreduce")
      operation_ = &Limit::allreduce;
    else if (c.collective == "reduce_scatter")
      operation_ = &Limit::reduce_scatter;
    else if (c.collective == "broadcast")
      operation_ = &Limit::broadcast;
    else if (c.collective == "allgather")
      operation_ = &Limit::allgather;
    else if (c.collective == "alltoall")
      operation_ = &Limit::alltoall;
    else
      throw std::runtime_error("--limit does not know " + c.collective);
    const bool reduces = c.collective == "allreduce" || c.collective == "reduce_scatter";
    if (reduces && !reduce_) throw std::runtime_error("--limit cannot sum " + c.dtype);
  }

  void operate() override { (this->*operation_)(); }
  void barrier() override {}

 private:
  // Thread r has block r: it reads all ranks' and writes all ranks', piece by piece so that the
  // sum is still in the first cache when the third and later ranks get it.
  void allreduce() {
    const std::size_t first = count_ * rank_ / size_, end = count_ * (rank_ + 1) / size_;
    for (std::size_t at = first; at < end; at += kPiece) {
      const std::size_t elements = std::min(kPiece, end - at), offset = at * item_;
      std::byte* own = all_[rank_].output + offset;
      std::byte* next = all_[(rank_ + 1) % size_].output + offset;
      sum(offset, elements, own, size_ > 1 ? next : nullptr);
      for (std::size_t r = 2; r < size_; ++r)
        copy(all_[(rank_ + r) % size_].output + offset, own, elements * item_, To::kPeer);
    }
  }

  void reduce_scatter() {
    const std::size_t offset = rank_ * count_;
    for (std::size_t at = 0; at < count_; at += kPiece)
      sum((offset + at) * item_, std::min(kPiece, count_ - at), all_[rank_].output + at * item_,
          nullptr);
  }

  void broadcast() { copy(all_[rank_].output, all_[0].output, count_ * item_, To::kOwn); }

  void allgather() {
    for (std::size_t r = 0; r < size_; ++r) take_block(r, 0);
  }

  void alltoall() {
    for (std::size_t r = 0; r < size_; ++r) take_block(r, rank_);
  }

  // Block `block` of rank r's input becomes block r of the own output.
  void take_block(std::size_t r, std::size_t block) {
    const std::size_t bytes = count_ * item_;
    copy(all_[rank_].output + r * bytes, all_[r].input + block * bytes, bytes,
         {To::kOwn, size_ * bytes});
  }

  // To `dst`, and to `second` if there is one: the sum of all inputs from byte `offset` on.
  void sum(std::size_t offset, std::size_t elements, std::byte* dst, std::byte* second) {
    sources_.clear();
    for (const Buffers& buffers : all_) sources_.push_back({buffers.input + offset});
    const weft::kernels::Target targets[] = {{dst}, {second}};
    reduce_(sources_, {targets, second ? 2u : 1u}, elements, 1.0, weft::kernels::Order::kTree);
  }

  static constexpr std::size_t kPiece = 4096;  // elements

  const std::size_t rank_;
  std::vector<Buffers>& all_;
  const std::size_t size_;
  std::size_t item_ = 0, count_ = 0;
  weft::kernels::ReduceFn reduce_ = nullptr;
  std::vector<weft::kernels::Source> sources_;
  void (Limit::*operation_)() = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::measure_threads(argc, argv, [](const bench::Job& job) -> bench::MakeRank {
    auto all = std::make_shared<std::vector<Buffers>>(static_cast<std::size_t>(job.ranks));
    return [all](int rank) { return std::make_unique<Limit>(rank, *all); };
  });
}

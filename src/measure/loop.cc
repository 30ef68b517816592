#include "measure/loop.h"

#include <algorithm>
#include <vector>

#include "kernels/copy.h"
#include "kernels/kernels.h"
#include "measure/timing.h"

namespace weft::measuring {
namespace {

// The two halves of a rank's buffers.
class Loop {
 public:
  Loop(Probe& probe, int next, int prev, std::size_t bytes)
      : probe_(probe),
        next_(next),
        prev_(prev),
        pieces_(std::max<std::size_t>(1, bytes / 2 / kPiece)),
        input_(pieces_ * kPiece),
        output_(input_.size()),
        sum_(kernels::find_reduce(DType::kF32, ReduceOp::kSum)) {}

  // Once through all pieces: seconds in what `fill` writes into slots, and in fetches.
  template <typename Fill>
  void move(Fill&& fill, double& filled, double& fetched) {
    for (std::size_t i = 0; i < pieces_; ++i) {
      const std::size_t slot = turn_++ % kSlots * kPiece;
      probe_.await_taken(next_, kSlots - 1);
      filled += timed([&] { fill(i, probe_.own() + slot); });
      probe_.send(next_);
      probe_.wait(prev_);
      fetched += timed([&] { put(at(output_, i), probe_.of(prev_) + slot, kernels::To::kOwn); });
      probe_.credit(prev_);
    }
  }

  void copy(std::size_t piece, std::byte* to) { put(to, at(input_, piece), kernels::To::kSlot); }
  void sum(std::size_t piece, std::byte* to) {
    const kernels::Source sources[] = {{at(input_, piece)}, {at(output_, piece)}};
    const kernels::Target target[] = {{to}};
    sum_({sources, 2}, {target, 1}, kPiece / sizeof(float), 1.0, kernels::Order::kTree);
  }
  double reduce() {
    return timed([&] {
      for (std::size_t i = 0; i < pieces_; ++i) sum(i, at(output_, i));
    });
  }

  double bytes() const { return static_cast<double>(input_.size()); }
  void finish() { probe_.await_taken(next_, 0); }

 private:
  void put(std::byte* to, const std::byte* from, kernels::To kind) {
    kernels::copy(to, from, kPiece, {kind, input_.size()});
  }
  static std::byte* at(std::vector<std::byte>& buffer, std::size_t piece) {
    return buffer.data() + piece * kPiece;
  }

  Probe& probe_;
  const int next_, prev_;
  const std::size_t pieces_;
  std::vector<std::byte> input_, output_;  // zeroed: sums stay what they are
  const kernels::ReduceFn sum_;
  std::size_t turn_ = 0;
};

}  // namespace

LoopTimes measure_loop(Probe& probe, int next, int prev, std::size_t bytes, int times) {
  Loop loop(probe, next, prev, bytes);
  std::vector<double> copies, fetches, reductions, stores;
  const auto copy_into = [&](std::size_t piece, std::byte* slot) { loop.copy(piece, slot); };
  const auto sum_into = [&](std::size_t piece, std::byte* slot) { loop.sum(piece, slot); };
  for (int time = -1; time < times; ++time) {  // once to warm up
    double copy = 0, fetch = 0, store = 0, again = 0;
    loop.move(copy_into, copy, fetch);
    loop.move(sum_into, store, again);
    const double reduce = loop.reduce();
    if (time < 0) continue;
    copies.push_back(copy / loop.bytes());
    fetches.push_back(fetch / loop.bytes());
    stores.push_back(store / loop.bytes());
    reductions.push_back(reduce / (2 * loop.bytes()));
  }
  loop.finish();
  return {median(copies), median(fetches), median(reductions), median(stores)};
}

}  // namespace weft::measuring

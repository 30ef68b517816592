// Rabenseifner's allreduce: recursive halving, then recursive doubling.
//
// Four ranks, four blocks; rank 0:
//   halve    sends blocks 2-3 to rank 1, adds its blocks 0-1 to its own;
//            sends block 1 to rank 2, adds its block 0: now y[0] is complete;
//   double   sends y[0] to rank 2 and gets y[1]; sends y[0-1] to rank 1 and gets y[2-3].
// Ranks 1 and 2 complete y[2] and y[1]: a rank's block is its number with the bits reversed.
// Six ranks: 4 and 5 first hand their inputs to 0 and 1, and are sent the result at the end.
//
// The nearest rank by number is the first peer, as in Rabenseifner's own code and in MPICH. If
// nodes have consecutive ranks, the longest messages stay in the node.
//
// Steps 2 log2 P, bytes sent 2n(P-1)/P (+ 2 steps, 2n bytes where P is no power of two).
// Whole halves are added up before the next step, in the output: f16 and bf16 partial sums
// are rounded in each step but the last.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004;
// Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, on allreduce.
#include <algorithm>

#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// Blocks [first, first + count).
struct Blocks {
  int first;
  int count;
};

// One of the ranks below the power of two.
class Core {
 public:
  Core(Builder& b, int blocks, int channel) : b_(b), mine_{0, blocks}, channel_(channel) {}

  // Adds a rank's whole input to the own.
  void take_in(int extra) {
    b_.chunks([&] { add(extra, mine_, Builder::kPartial); });
    partial_in_output_ = true;
  }

  // Keeps one half, the upper one if this rank is above `peer`, and gives the other away.
  void halve(int peer) {
    const int half = mine_.count / 2;
    const Blocks low{mine_.first, half}, high{mine_.first + half, half};
    const bool upper = b_.rank() > peer;
    mine_ = upper ? high : low;
    const Blocks theirs = upper ? low : high;
    b_.chunks([&] {
      b_.put(sum_of(theirs), {peer}, channel_);
      b_.lag(1);
      add(peer, mine_, half == 1 ? Builder::kLast : Builder::kPartial);
    });
    partial_in_output_ = true;
  }

  // The inverse of halve.
  void double_up(int peer) {
    const int count = mine_.count;
    const Blocks theirs{b_.rank() > peer ? mine_.first - count : mine_.first + count, count};
    b_.chunks([&] {
      b_.put(output(mine_), {peer}, channel_);
      b_.lag(1);
      b_.wait(peer, channel_, output(theirs));
      b_.copy({output(theirs)}, b_.slot(peer, channel_));
      b_.credit(peer, channel_, output(theirs));
    });
    mine_ = {std::min(mine_.first, theirs.first), 2 * count};
  }

  void give_result(int extra) {
    b_.chunks([&] { b_.put(output(mine_), {extra}, channel_); });
  }

 private:
  void add(int peer, Blocks at, Builder::Partial partial) {
    b_.wait(peer, channel_, output(at));
    b_.reduce({output(at)}, {sum_of(at), b_.slot(peer, channel_)}, partial);
    b_.credit(peer, channel_, output(at));
  }

  Operand output(Blocks at) const { return b_.output(at.first, at.count); }
  Operand sum_of(Blocks at) const {
    return partial_in_output_ ? output(at) : b_.input(at.first, at.count);
  }

  Builder& b_;
  Blocks mine_;  // what this rank has the latest sum of
  int channel_;
  bool partial_in_output_ = false;
};

void write_extra(Builder& b, int blocks, int proxy, int channel) {
  const Operand output = b.output(0, blocks);
  b.chunks([&] { b.put(b.input(0, blocks), {proxy}, channel); });
  b.chunks([&] {
    b.wait(proxy, channel, output);
    b.copy({output}, b.slot(proxy, channel));
    b.credit(proxy, channel, output);
  });
}

void write_allreduce_rabenseifner(Builder& b) {
  const int core = power_of_two_in(b.ranks()), extra = b.ranks() - core, me = b.rank();
  b.blocks(core, core);
  const int ch = b.channel(4);
  if (b.ranks() == 1) return b.chunks([&] { store(b, b.output(), own(b.input())); });
  if (me >= core) return write_extra(b, core, me - core, ch);
  Core rank(b, core, ch);
  if (me < extra) rank.take_in(me + core);
  for (int bit = 1; bit < core; bit *= 2) rank.halve(me ^ bit);
  for (int bit = core / 2; bit > 0; bit /= 2) rank.double_up(me ^ bit);
  if (me < extra) rank.give_result(me + core);
}

}  // namespace

Algorithm allreduce_rabenseifner() {
  return {"allreduce/rabenseifner",
          Collective::kAllreduce,
          "recursive halving and doubling; 2 log2 P steps, 2n(P-1)/P bytes; rounds partial "
          "sums; medium messages over a network (Rabenseifner 2004)",
          write_allreduce_rabenseifner,
          {},
          kConsistent};
}

}  // namespace weft

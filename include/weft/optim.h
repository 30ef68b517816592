// SGD on bf16 weights that loses nothing: Split-SGD-BF16 of Kalamkar et al., "Optimizing Deep
// Learning Recommender Systems' Training On CPU Cluster Architectures" (2020).
//
// A float32 weight lies in two arrays of 16 bits. The upper half is itself a bf16 (the weight
// truncated) and is what the model computes with. The lower half lies beside it, is read and
// written by the step only, and is never sent. Both together take the memory of a float32.
//
//   float32   s eeeeeeee mmmmmmm | mmmmmmmmmmmmmmmm
//             high (bf16)        | low
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// The factors of a step, as torch.optim.SGD names them. Each is rounded to float32 once; 1 -
// dampening is taken before.
struct SgdOptions {
  double lr = 0;
  double momentum = 0;  // counts if the arrays have momentum
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool first = false;  // the momentum is not read, but set to the gradient
};

// Arrays of `count` elements each. They may not overlap. No alignment is asked for.
struct SplitWeights {
  std::uint16_t* high = nullptr;
  std::uint16_t* low = nullptr;
  const std::uint16_t* grad = nullptr;  // bf16
  float* momentum = nullptr;            // null: none
  std::size_t count = 0;
};

// One step of SGD:
//
//   g = grad + weight_decay * w            if weight_decay is not 0
//   m = momentum * m + (1 - dampening) * g, or g at the first step;  g = m, or g + momentum * m
//   w = w + (-lr) * g
//
// in float32, where every product is rounded before it is added. All instruction sets give the same
// bits, except for which NaN a NaN is, also on a thread that flushes denormals. Thread safe for
// different weights.
//
// threads: the most that share the weights, the caller among them. A thread gets a million weights
// or more, so short arrays stay with the caller.
void split_sgd(const SplitWeights& weights, const SgdOptions& options, int threads = 1);

// A table of `rows` rows of `width` weights, and a gradient of some of its rows.
struct SplitTable {
  std::uint16_t* high = nullptr;  // rows * width
  std::uint16_t* low = nullptr;
  std::size_t rows = 0;
  std::size_t width = 0;
  const std::uint16_t* grad = nullptr;  // entries * width, bf16
  const std::int64_t* row = nullptr;    // entries: which row each is of
  std::size_t entries = 0;
};

// w = w + (-lr) * grad, one entry after the other. A row with several entries is rounded after each
// of them. Throws InvalidArgument if a row is not in the table; then nothing was changed. Thread
// safe for different tables.
void split_sgd(const SplitTable& table, double lr);

}  // namespace weft

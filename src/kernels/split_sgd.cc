#include <algorithm>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "kernels/kernels.h"
#include "weft/error.h"
#include "weft/optim.h"

namespace weft {
namespace {

constexpr std::size_t kLeastShare = 1 << 20;  // weights: some tenths of a millisecond
constexpr std::size_t kLine = 64;             // weights; no two threads write a cache line

void step_part(const SplitWeights& all, std::size_t begin, std::size_t count,
               const kernels::SgdFactors& factors) {
  kernels::find_split_sgd()({all.high + begin, all.low + begin, all.grad + begin,
                             all.momentum ? all.momentum + begin : nullptr},
                            count, factors);
}

}  // namespace

void split_sgd(const SplitWeights& weights, const SgdOptions& options, int threads) {
  const kernels::SgdFactors factors{.minus_lr = static_cast<float>(-options.lr),
                                    .momentum = static_cast<float>(options.momentum),
                                    .undamped = static_cast<float>(1 - options.dampening),
                                    .weight_decay = static_cast<float>(options.weight_decay),
                                    .nesterov = options.nesterov,
                                    .first = options.first};
  const std::size_t shares = std::clamp<std::size_t>(
      weights.count / kLeastShare, 1, static_cast<std::size_t>(std::max(threads, 1)));
  const std::size_t share = (weights.count / shares + kLine - 1) / kLine * kLine;
  std::vector<std::jthread> others;
  for (std::size_t begin = share; begin < weights.count; begin += share) {
    const std::size_t length = std::min(share, weights.count - begin);
    const auto work = [&weights, &factors, begin, length] {
      step_part(weights, begin, length, factors);
    };
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      work();  // the system gives no more threads
    }
  }
  step_part(weights, 0, std::min(share, weights.count), factors);
}

void split_sgd(const SplitTable& table, double lr) {
  for (std::size_t entry = 0; entry < table.entries; ++entry) {
    const std::int64_t row = table.row[entry];
    if (row < 0 || static_cast<std::size_t>(row) >= table.rows) {
      throw InvalidArgument("split_sgd: entry " + std::to_string(entry) +
                            " of the gradient is of row " + std::to_string(row) +
                            ", but the table has " + std::to_string(table.rows) + " rows");
    }
  }
  for (std::size_t entry = 0; entry < table.entries; ++entry) {
    const std::size_t begin = static_cast<std::size_t>(table.row[entry]) * table.width;
    split_sgd({.high = table.high + begin,
               .low = table.low + begin,
               .grad = table.grad + entry * table.width,
               .count = table.width},
              {.lr = lr});
  }
}

}  // namespace weft

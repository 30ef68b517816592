#include <string>

#include "kernels/kernels.h"
#include "weft/error.h"
#include "weft/optim.h"

namespace weft {

void split_sgd(const SplitWeights& weights, const SgdOptions& options) {
  const kernels::SgdFactors factors{.minus_lr = static_cast<float>(-options.lr),
                                    .momentum = static_cast<float>(options.momentum),
                                    .undamped = static_cast<float>(1 - options.dampening),
                                    .weight_decay = static_cast<float>(options.weight_decay),
                                    .nesterov = options.nesterov,
                                    .first = options.first};
  kernels::find_split_sgd()({weights.high, weights.low, weights.grad, weights.momentum},
                            weights.count, factors);
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

#include "plan/partition.h"

#include <cassert>

namespace weft {

Partition Partition::even(std::size_t total, int blocks, std::size_t unit) {
  assert(blocks >= 0 && unit >= 1);
  Partition result;
  result.total_ = total;
  if (blocks == 0) return result;
  auto count = static_cast<std::size_t>(blocks);
  // Whole units a block. Quotients and remainders, since total + unit may overflow.
  std::size_t units = total / unit + (total % unit != 0);
  result.stride_ = (units / count + (units % count != 0)) * unit;
  return result;
}

Partition Partition::uniform(std::size_t count, int blocks) {
  assert(blocks >= 0);
  Partition result;
  result.total_ = count * static_cast<std::size_t>(blocks);
  result.stride_ = count;
  return result;
}

Partition Partition::of(std::span<const std::size_t> counts) {
  Partition result;
  result.starts_.reserve(counts.size() + 1);
  result.starts_.push_back(0);
  for (std::size_t count : counts) result.starts_.push_back(result.starts_.back() + count);
  result.total_ = result.starts_.back();
  return result;
}

}  // namespace weft

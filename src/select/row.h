// A row of the tables by which algorithms are chosen.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "base/machine_model.h"
#include "weft/choice.h"

namespace weft {

// From one number to another, both included.
template <typename T>
struct Extent {
  T from = 0;
  T to = std::numeric_limits<T>::max();
  bool holds(T number) const { return from <= number && number <= to; }
  bool all() const { return *this == Extent{}; }
  bool operator==(const Extent&) const = default;
};

inline constexpr const char* kAsBuiltIn = "built-in";

// A row: the calls that it fits, and its choice.
struct Row {
  Collective collective = Collective::kBarrier;
  Extent<int> ranks;
  Extent<int> nodes;
  // Of the whole message, as nccl-tests count. Where ranks may see different bytes (gather,
  // scatter, and alltoall but for two ranks that send each other as much) only a row for all sizes
  // fits.
  Extent<std::size_t> bytes;
  std::optional<bool> symmetric;  // whether all buffers lie in symmetric memory; not set: either
  Choice use;                     // kAsBuiltIn: what the built-in table says, whatever rows follow
  // Of the built-in table only.
  bool crowded = false;  // only where ranks outnumber their cores
  bool no_half = false;  // not for f16 and bf16
  bool operator==(const Row&) const = default;
};

// The choice if no other table has one, on a machine with these lengths.
std::vector<Row> builtin_rows(const Lengths& lengths);

}  // namespace weft
